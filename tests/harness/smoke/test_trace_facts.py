"""The harness's own count of a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.smoke.trace_facts import count

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

ROW = '{"timestamp": 0, "input_length": 5, "output_length": 2, "hash_ids": [1]}\n'


def test_mooncake(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(ROW + "\n" + ROW.replace("5", "7"), "utf-8")
    assert count(path) == {"requests": 2, "input-tokens": 12, "output-tokens": 4}


def test_azure(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16,10,3\n2023-11-17,1,1\n")
    assert count(path) == {"requests": 2, "input-tokens": 11, "output-tokens": 4}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("t.jsonl", ROW + "{", 2),
        ("t.jsonl", ROW + ROW + "[]\n", 3),
        ("t.jsonl", ROW + '{"input_length": 5}\n', 2),
        ("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nx,1\n", 2),
        ("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nx,1,y\n", 2),
    ],
)
def test_malformed_line_is_named(tmp_path: Path, name: str, text: str, line: int) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        count(path)
    assert caught.value.where == f"{path}:{line}"


def test_missing_and_empty(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such trace"):
        count(tmp_path / "absent.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InputError, match="holds no request"):
        count(tmp_path / "empty.jsonl")
