"""Locks: compiled with the real pip-tools from wheels on disk; who refreshes Cargo.lock."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from harness.cli import main
from harness.pins.lock import inputs
from harness.pins.lock import lock as compile_all
from harness.pins.repository import Repository
from tests.harness.pins.trees import contents, open_tree, report, write

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.integration,
    pytest.mark.gpu_0,
    pytest.mark.timeout(300),
]

HEADER = "#\n#    pip-compile --output-file=deps/a.txt deps/a.in\n#\n"
MANIFEST = '[package]\nname = "app"\nversion = "{}"\nedition = "2021"\n'


def wheel(folder: Path, name: str, version: str) -> None:
    """Write the smallest wheel that pip accepts."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def only_wheels(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip sees."""
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("0.12.0", "0.13.0", "0.14.0"):
        wheel(folder, "sim", version)
    wheel(folder, "other", "1.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def lock(root: Path, *words: str) -> int:
    return main(["pins", "lock", "--root", str(root), *words])


@pytest.mark.usefixtures("only_wheels")
def test_a_stale_lock_is_found_and_compiled(tmp_path: Path) -> None:
    stale = HEADER + "other==1.0\n    # via -r deps/a.in\n"
    root = write(tmp_path, {"deps/a.in": "sim<0.14\n", "deps/a.txt": stale})
    codes = [f.code for f in report(root).findings if f.severity == "error"]
    assert codes == ["lock-behind-input", "lock-behind-input"]  # one missing, one left over
    assert lock(root) == 0
    text = (root / "deps/a.txt").read_text("utf-8")
    assert "sim==0.13.0 \\\n    --hash=sha256:" in text
    assert "other" not in text
    assert str(tmp_path) not in text
    assert report(root).clean
    before = contents(root)
    assert lock(root) == 0
    assert contents(root) == before


@pytest.mark.usefixtures("only_wheels")
def test_bump_moves_hash_locked_lines_with_the_input(tmp_path: Path) -> None:
    root = write(tmp_path, {"deps/a.in": "sim==0.13.0\n", "deps/a.txt": HEADER})
    assert lock(root) == 0
    assert report(root).clean
    before = contents(root)
    assert main(["pins", "bump", "simulator", "0.14.0", "--root", str(root)]) == 0
    assert report(root).clean
    assert b"sim==0.14.0 " in contents(root)["deps/a.txt"]
    assert main(["pins", "bump", "simulator", "0.13.0", "--root", str(root)]) == 0
    assert contents(root) == before


@pytest.mark.usefixtures("only_wheels")
def test_a_failure_leaves_the_lock_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, {"deps/a.in": "nowhere==9\n", "deps/a.txt": HEADER + "sim==0.13.0\n"})
    before = contents(root)
    assert lock(root) == 3
    assert "compiling deps/a.in failed" in capsys.readouterr().err
    assert contents(root) == before


def test_new_inputs_beside_compiled_ones_are_compiled_too(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "deps/a.in": "sim\n",
            "deps/a.txt": HEADER,
            "deps/b.in": "x==1\n",
            "elsewhere/c.in": "y==1\n",
        },
    )
    assert list(inputs(open_tree(root))) == [
        ("deps/a.in", "deps/a.txt"),
        ("deps/b.in", "deps/b.txt"),
    ]


def test_with_neither_cargo_nor_an_engine_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, {"Cargo.toml": MANIFEST.format("0.1.0"), "Cargo.lock": "version = 4\n"})
    before = contents(root)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr("harness.engine.client.USUAL_PLACES", ())
    assert lock(root) == 3
    said = capsys.readouterr().err
    assert "cargo is not installed, and Cargo.lock can't be refreshed in the builder" in said
    assert "no container engine answers" in said
    assert "fix: install a Rust toolchain, or " in said
    assert contents(root) == before


def test_where_the_host_has_no_cargo_another_one_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{name}/Cargo.{end}": "" for name in "ab" for end in ("toml", "lock")}
    repository = open_tree(write(tmp_path, files))
    asked: list[tuple[str, tuple[str, ...]]] = []

    def elsewhere(_: Repository, path: str, words: tuple[str, ...]) -> None:
        asked.append((path, words))

    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    compile_all(repository, cargo=elsewhere)
    compile_all(repository, cargo=elsewhere, upgrade=True)
    assert asked == [
        ("a/Cargo.lock", ("--workspace",)),
        ("b/Cargo.lock", ("--workspace",)),
        ("a/Cargo.lock", ()),
        ("b/Cargo.lock", ()),
    ]


def test_the_cargo_of_the_host_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "cargo"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" > "$(dirname "$3")/asked"\n')
    program.chmod(0o755)
    repository = open_tree(write(tmp_path / "r", {"a/Cargo.toml": "", "a/Cargo.lock": ""}))

    def elsewhere(_: Repository, path: str, words: tuple[str, ...]) -> None:
        raise AssertionError(path)

    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    compile_all(repository, cargo=elsewhere)
    manifest = tmp_path / "r" / "a" / "Cargo.toml"
    asked = manifest.with_name("asked").read_text("utf-8")
    assert asked == f"update --manifest-path {manifest} --workspace\n"
