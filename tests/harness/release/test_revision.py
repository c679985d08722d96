"""A release names its commit in full, and is made from that commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import CheckFailed, InputError
from harness.release.revision import require_head

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def head_of(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_head(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = head_of(checkout)
    assert main(["release", "revision", head]) == 0
    assert capsys.readouterr().out == f"HEAD is {head}\n"


def test_another_commit(checkout: Path) -> None:
    with pytest.raises(CheckFailed, match=f"found {head_of(checkout)}"):
        require_head(checkout, "0" * 40)


@pytest.mark.parametrize("short", [7, 39, 41])
def test_not_a_full_id(checkout: Path, short: int) -> None:
    with pytest.raises(InputError, match="no full commit id"):
        require_head(checkout, (head_of(checkout) + "0")[:short])


@pytest.mark.parametrize("moving", ["", "main", "HEAD", "v0.13.0"])
def test_what_can_move(checkout: Path, moving: str) -> None:
    with pytest.raises(InputError, match="no full commit id"):
        require_head(checkout, moving)
