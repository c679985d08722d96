"""Scratch folders: removed after use, and those of killed runs by the next one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from harness.smoke.scratch import PREFIX, remove_leftovers, scratch

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_gone_after_use(temporary: Path) -> None:
    with scratch() as folder:
        (folder / "file").touch()
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o777 == 0o755
    assert list(temporary.iterdir()) == []


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(temporary: Path) -> None:
    # No process has an id beyond the kernel's limit.
    dead = int(Path("/proc/sys/kernel/pid_max").read_text("utf-8")) + 1
    for name in (f"{PREFIX}{dead}-a", f"{PREFIX}{os.getpid()}-b", f"{PREFIX}x-c", "other"):
        (temporary / name).mkdir()
        (temporary / name / "file").touch()
    remove_leftovers()
    left = sorted(path.name for path in temporary.iterdir())
    assert left == ["other", f"{PREFIX}{os.getpid()}-b", f"{PREFIX}x-c"]
