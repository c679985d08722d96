"""Files are written whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from replay_sim import ConfigError, files

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def test_a_failure_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old", encoding="utf-8")

    def write_half() -> None:
        with files.replacing(target) as temporary:
            temporary.write_text("half", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"

    def write(error: OSError) -> None:
        with files.replacing(target):
            raise error

    for error in (OSError(28, "No space left on device"), OSError(28, "No space left", "other")):
        with pytest.raises(OSError, match="No space left") as caught:
            write(error)
        assert (caught.value.errno, caught.value.filename) == (28, str(target))
    assert list(tmp_path.iterdir()) == []


def test_success_replaces_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old", encoding="utf-8")
    with files.replacing(target) as temporary:
        temporary.write_text("new", encoding="utf-8")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) & 0o600 == 0o600


def test_impossible_targets_are_refused(tmp_path: Path) -> None:
    files.check_target(tmp_path / "report.json")
    with pytest.raises(ConfigError, match="is a directory"):
        files.check_target(tmp_path)
    with pytest.raises(ConfigError, match="does not exist"):
        files.check_target(tmp_path / "missing" / "report.json")
