"""The fixer: only spans change, nothing is guessed, and what was moved can be moved back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.cli import main
from tests.harness.pins.trees import CASES, OTHER, PIN, URL, contents, load_cases, report, write

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

CASE_NAMES = [case.name for case in load_cases(CASES)]


def pins(root: Path, *words: str) -> int:
    return main(["pins", *words, "--root", str(root)])


def aligned(root: Path) -> Path:
    """A tree with every kind of place, all at the pins."""
    lock = 'version = 4\n\n[[package]]\nname = "app"\nversion = "0.1.0"\n'
    for name in ("sim-core", "sim-py"):
        lock += f'\n[[package]]\nname = "{name}"\nversion = "0.13.0"\n'
        lock += f'source = "git+{URL}?rev={PIN}#{PIN}"\n'
    return write(
        root,
        {
            "Cargo.toml": '[package]\r\nname = "app"\r\nversion = "0.1.0"\r\n[dependencies]\r\n'
            f'sim-core = {{ git = "{URL}", rev = "{PIN}" }} # rev = "{OTHER}"\r\n'
            'sim-py = "=0.13.0"',
            "Cargo.lock": lock,
            "requirements.txt": "\ufeffsim [fast] == 0.13.0 ; python_version > '3' # sim==0.12.0\n",
            "utf16/requirements.txt": "# ü 💥\r\nsim==0.13.0\r\n".encode("utf-16"),
            "Dockerfile": f"ARG SIM_REV={PIN}\nARG TAG='3.12'\nFROM python:${{TAG}}-slim AS a\n"
            'FROM rust:1.95-slim\nRUN pip install \\\n  # ü\n  "sim==0.13.0"\n',
            ".github/workflows/ci.yml": f'env: {{ SIM_REV: "{PIN}" }}\njobs:\n  a:\n'
            "    strategy: { matrix: { rust: [1.95.0] } }\n    steps:\n"
            "      - run: rustup default ${{ matrix.rust }}\n",
            "rust-toolchain.toml": '[toolchain]\nchannel = "1.95.0"\n',
        },
    )


def test_moves_there_and_back_restore_every_byte(tmp_path: Path) -> None:
    root = aligned(tmp_path)
    before = contents(root)
    assert pins(root, "check") == 0
    assert pins(root, "bump", "simulator", OTHER, "0.14.0-rc.2") == 0
    assert pins(root, "bump", "rust", "1.96.1") == 0
    assert pins(root, "bump", "python", "3.13") == 0
    assert pins(root, "check") == 0
    moved = contents(root)
    assert {path for path in before if before[path] != moved[path]} == set(before)
    assert b"sim==0.14.0rc2" in moved["Dockerfile"]
    assert b'sim-py = "=0.14.0-rc.2"' in moved["Cargo.toml"]
    assert b"python" in moved["Dockerfile"]
    assert b"rust:1.96-slim" in moved["Dockerfile"]
    assert b"[1.96.1]" in moved[".github/workflows/ci.yml"]
    assert f'# rev = "{OTHER}"'.encode() in moved["Cargo.toml"]
    assert pins(root, "bump", "simulator", PIN, "0.13.0") == 0
    assert pins(root, "bump", "rust", "1.95.0") == 0
    assert pins(root, "bump", "python", "3.12") == 0
    assert contents(root) == before


def test_a_second_sync_changes_nothing(tmp_path: Path) -> None:
    root = aligned(tmp_path)
    file = root / "Dockerfile"
    file.write_bytes(file.read_bytes().replace(b"==0.13.0", b"==0.12.0"))
    assert pins(root, "check") == 1
    assert pins(root, "sync") == 0
    once = contents(root)
    assert pins(root, "sync") == 0
    assert contents(root) == once


@pytest.mark.parametrize("name", CASE_NAMES)
def test_sync_of_every_fixture(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What sync can decide it mends; what it can't it names; a second run changes nothing."""
    root = tmp_path / "tree"
    shutil.copytree(CASES / name / "tree", root)
    findings = report(root).findings
    before = contents(root)
    code = pins(root, "sync")
    refused = capsys.readouterr().err
    after = contents(root)
    edits = {finding.edit for finding in findings if finding.edit is not None}
    assert {p for p in before if before[p] != after[p]} == {edit.file for edit in edits}
    for finding in report(root).findings:
        assert finding.edit is None
        if finding.refusal is not None and finding.severity == "error":
            assert code == 1
            assert f"{finding.file}:{finding.line}: refused" in refused
    pins(root, "sync")
    assert contents(root) == after


@pytest.mark.parametrize("name", CASE_NAMES)
def test_bytes_outside_of_spans_stay(name: str, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    shutil.copytree(CASES / name / "tree", root)
    before = contents(root)
    spans: dict[str, list[tuple[int, int]]] = {}
    for finding in report(root).findings:
        if finding.edit is not None:
            place = (finding.edit.span.start, finding.edit.span.end)
            spans.setdefault(finding.edit.file, []).append(place)
    pins(root, "sync")
    for path, places in spans.items():
        left, right = before[path], contents(root)[path]
        at = 0
        places = sorted(set(places))
        for (start, end), (limit, _) in zip(places, [*places[1:], (len(left), 0)], strict=True):
            # Everything up to the next span is there, in order.
            kept = left[at:start]
            assert right.startswith(kept)
            right = right[len(kept) :]
            at = end
            following = left[at : min(at + 8, limit)]
            right = right[right.index(following) :] if following else b""
        assert right == left[at:]


def test_dry_run_prints_a_diff_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, {"requirements.txt": "a\nsim==0.12.0"})
    before = contents(root)
    assert pins(root, "sync", "--dry-run") == 0
    assert contents(root) == before
    assert capsys.readouterr().out == (
        "--- a/requirements.txt\n+++ b/requirements.txt\n@@ -1,2 +1,2 @@\n a\n"
        "-sim==0.12.0\n\\ No newline at end of file\n"
        "+sim==0.13.0\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("requirements.txt", f"sim==0.12.0 --hash=sha256:{'a' * 64}\n", "hash-locked"),
        ("requirements.txt", f"sim @ git+{URL}@main\n", "decide"),
        ("requirements.txt", "sim>=0.14\n", "decide"),
        ("Dockerfile", "FROM python:latest\n", "decide"),
        ("Dockerfile", "FROM python:3.11.8-slim\n", "written back"),
        ("Dockerfile", "ARG A=1 B=9\nFROM rust:$A.$B\n", "several places"),
    ],
)
def test_what_can_not_be_decided_is_refused_by_name(
    file: str, text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, {file: text})
    before = contents(root)
    assert pins(root, "sync") == 1
    assert contents(root) == before
    refused = capsys.readouterr().err
    assert f"{file}:" in refused
    assert why in refused


def test_links_stay_links(tmp_path: Path) -> None:
    root = write(tmp_path, {"real/pinned.list": "sim==0.12.0\n"})
    (root / "requirements.txt").symlink_to("real/pinned.list")
    assert pins(root, "sync") == 0
    assert (root / "requirements.txt").is_symlink()
    assert (root / "real" / "pinned.list").read_text("utf-8") == "sim==0.13.0\n"


def test_only_what_the_pin_is_about_moves(tmp_path: Path) -> None:
    """Another package at the same version stays where it is."""
    text = "other==0.13.0\nsim==0.13.0\nsim-extra==0.13.0\n"
    root = write(tmp_path, {"requirements.txt": text})
    assert pins(root, "bump", "simulator", "0.14.0") == 0
    moved = (root / "requirements.txt").read_text("utf-8")
    assert moved == "other==0.13.0\nsim==0.14.0\nsim-extra==0.13.0\n"


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["main"], "no version"),
        (["1111111"], "no version"),
        (["sha256:1"], "no version"),
        (["sha256:" + "a" * 64], "has no digest"),
    ],
)
def test_bump_refuses_what_moves(
    values: list[str], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = aligned(tmp_path)
    before = contents(root)
    assert pins(root, "bump", "simulator", *values) == 2
    assert what in capsys.readouterr().err
    assert contents(root) == before


def test_bump_of_an_unknown_pin_suggests_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = aligned(tmp_path)
    assert pins(root, "bump", "simulater", "1.0") == 2
    assert "did you mean 'simulator'" in capsys.readouterr().err
