"""Harmless changes of this repository's files: nothing is found in any of these twins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.pins.compare import judge_all
from harness.pins.repository import Repository
from tests.dependencies.mutants import findings_of, open_tree, with_file
from tests.harness.pins.trees import CASES, load_cases

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.unit,
    pytest.mark.gpu_0,
    pytest.mark.timeout(600),
]

# Off every pin, in the comment syntax that all these formats share.
COMMENT = b'# kv-router==9.9.9 pyo3 = "=0.1.0" rust 1.2.3 FROM rust:latest uses: x/y@main\n'


def crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def marked(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data


def unterminated(data: bytes) -> bytes:
    return data.rstrip(b"\r\n")


def commented(data: bytes) -> bytes:
    return COMMENT + data + b"\n" + COMMENT


def quoted(data: bytes) -> bytes:
    """Literal strings in the place of basic ones, where none needs an escape."""
    lines = data.splitlines(keepends=True)
    return b"".join(
        line.replace(b'"', b"'") if b"'" not in line and b"\\" not in line else line
        for line in lines
    )


TWINS: list[Callable[[bytes], bytes]] = [crlf, marked, unterminated, commented, quoted]


def comments_above(repository: Repository, path: str) -> list[bytes]:
    """One twin for each pinned line: what it said before stands in a comment above it."""
    data = repository.data(path)
    assert data is not None
    starts = {
        data.rfind(b"\n", 0, j.at.span.start) + 1
        for j in judge_all(repository)
        if j.document.path == path and j.pin is not None
    }
    return [data[:at] + COMMENT + data[at:] for at in sorted(starts)]


def files(repository: Repository) -> list[str]:
    """Every file in which a pin is named."""
    return sorted({j.document.path for j in judge_all(repository) if j.pin is not None})


def test_twins_of_this_repository(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = open_tree(checkout)
    assert [f for f in findings_of(repository) if f.severity != "note"] == []
    count = 0
    for path in files(repository):
        data = repository.data(path)
        assert data is not None
        twins = [
            change(data)
            for change in TWINS
            if change is not quoted or path.endswith((".toml", ".lock"))
        ]
        if not path.endswith(".txt"):
            # In a compiled file the comment below a line says where the line comes from.
            twins += comments_above(repository, path)
        for twin in twins:
            count += twin != data
            found = findings_of(with_file(repository, path, twin))
            loud = [f for f in found if f.severity != "note"]
            assert loud == [], path
    with capsys.disabled():
        print(f"\nthis repository: {count} clean twins, no finding")
    assert count >= 60


def test_twins_of_clean_fixtures(capsys: pytest.CaptureFixture[str]) -> None:
    """Line ends and the end of the file mean nothing in any format."""
    count = 0
    for case in load_cases(CASES):
        if not case.clean:
            continue
        repository = open_tree(case.tree)
        for path in sorted(repository.by_path):
            data = repository.data(path)
            if data is None or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
                continue
            for change in (crlf, unterminated):
                count += 1
                found = findings_of(with_file(repository, path, change(data)))
                assert [f for f in found if f.severity != "note"] == [], f"{case.name} {path}"
    with capsys.disabled():
        print(f"\nclean fixtures: {count} twins, no finding")
    assert count >= 60
