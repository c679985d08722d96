"""Which files are looked at: what git tracks; without git, everything that is no build output."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.pins import walk
from tests.harness.pins.trees import report, write

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def git(root: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words],
        cwd=root, check=True, timeout=60, capture_output=True,
    )  # fmt: skip


def paths(root: Path) -> list[str]:
    return [path for path, _ in walk.files(root)]


def test_without_git(tmp_path: Path) -> None:
    names = [
        "a.txt",
        "sub/b.txt",
        "target/c",
        ".venv/d",
        "x/node_modules/e",
        "out/f",
        "g.log",
        "h/g.log",
    ]
    root = write(tmp_path, dict.fromkeys(names, "") | {".gitignore": "# c\n/out/\n*.log\n!keep\n"})
    assert paths(root) == [".gitignore", "a.txt", "deps/pins.toml", "sub/b.txt"]


def test_with_git_only_tracked_files_count(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"requirements.txt": "sim==0.13.0\n", "new/requirements.txt": "sim==0.1\n"}
    )
    git(root, "init", "-q")
    git(root, "add", "requirements.txt", "deps")
    assert paths(root) == ["deps/pins.toml", "requirements.txt"]
    assert report(root).clean
    git(root, "add", "new")
    assert paths(root) == ["deps/pins.toml", "new/requirements.txt", "requirements.txt"]
    assert not report(root).clean
    (root / "new/requirements.txt").unlink()
    assert report(root).clean


def test_a_folder_of_a_checkout_that_tracks_nothing_there_is_walked(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    root = write(tmp_path / "below", {"requirements.txt": "sim==0.12.0\n"})
    assert paths(root) == ["deps/pins.toml", "requirements.txt"]
    assert not report(root).clean
    git(tmp_path, "add", "below/deps")
    assert paths(root) == ["deps/pins.toml"]


def test_names_of_any_kind_and_links(tmp_path: Path) -> None:
    root = write(tmp_path, {"ü b/requirements.txt": "sim==0.12.0\n"})
    (root / "link").symlink_to("ü b")
    (root / "broken.txt").symlink_to("nowhere")
    (root / "loop").symlink_to(".")
    for use_git in (False, True):
        if use_git:
            git(root, "init", "-q")
            git(root, "add", "-A")
        assert paths(root).count("ü b/requirements.txt") == 1
        errors = [f.file for f in report(root).findings if f.severity == "error"]
        assert errors == ["ü b/requirements.txt"]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (
            "tests/**/cases/**",
            ["tests/a/b/cases/c/d", "tests/cases/x"],
            ["tests/cases", "a/tests/cases/x"],
        ),
        ("*.txt", ["a.txt"], ["b/a.txt", "a.txtx"]),
        ("**/*.txt", ["a.txt", "b/c/a.txt"], ["a.md"]),
        ("a?[bc]{d,e}", ["axbd", "a/"[:1] + "xce"], ["a/bd", "axbf", "axb"]),
        ("[!a]x", ["bx"], ["ax"]),
        ("a+b(c)", ["a+b(c)"], ["aab(c)"]),
    ],
)
def test_globs(pattern: str, yes: list[str], no: list[str]) -> None:
    compiled = walk.glob(pattern)
    assert all(compiled.fullmatch(path) for path in yes)
    assert not any(compiled.fullmatch(path) for path in no)
