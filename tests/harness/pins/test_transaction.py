"""Several files are written as one step: a failure or a kill leaves every one as it was."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import InputError
from harness.pins import transaction
from tests.harness.pins.trees import contents, write

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

FILES = {f"{name}/requirements.txt": "sim==0.12.0\n" for name in "abcd"}


def moved(root: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    before = {path: (root / path).read_bytes() for path in FILES}
    return before, dict.fromkeys(FILES, b"sim==0.13.0\n")


def test_all_files_change(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    (root / "a/requirements.txt").chmod(0o640)
    before, after = moved(root)
    transaction.write_all(root, before, after)
    assert {path: contents(root)[path] for path in FILES} == after
    assert (root / "a/requirements.txt").stat().st_mode & 0o777 == 0o640
    assert set(contents(root)) == {*FILES, "deps/pins.toml"}


@pytest.mark.parametrize("failing", range(1, 13))
def test_a_disk_that_fills_up_changes_nothing(
    failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever write or exchange fails, every file is as it was and nothing is left over."""
    root = write(tmp_path, FILES)
    state = contents(root)
    before, after = moved(root)
    calls = 0
    fsync, replace = os.fsync, Path.replace

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full_fsync(descriptor: int) -> None:
        count()
        fsync(descriptor)

    def full_replace(self: Path, target: Path) -> Path:
        count()
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", full_fsync)
    monkeypatch.setattr(Path, "replace", full_replace)
    with pytest.raises(InputError, match="nothing was written: No space left"):
        transaction.write_all(root, before, after)
    assert calls >= failing
    assert contents(root) == state


def test_a_read_only_file_stops_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, FILES)
    (root / "c/requirements.txt").chmod(0o444)
    state = contents(root)
    assert main(["pins", "sync", "--root", str(root)]) == 2
    assert contents(root) == state
    message = capsys.readouterr().err
    assert "c/requirements.txt: is read-only" in message
    (root / "c/requirements.txt").chmod(0o644)
    assert main(["pins", "sync", "--root", str(root)]) == 0
    assert contents(root) != state


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    before, after = moved(root)
    (root / "b/requirements.txt").write_text("sim==0.11.0\n", "utf-8")
    state = contents(root)
    with pytest.raises(InputError, match=r"b/requirements\.txt: changed"):
        transaction.write_all(root, before, after)
    assert contents(root) == state


def test_a_link_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("sim==0.12.0\n", "utf-8")
    root = write(tmp_path / "repository", {})
    (root / "requirements.txt").symlink_to(outside)
    with pytest.raises(InputError, match="out of the repository"):
        transaction.write_all(
            root, {"requirements.txt": outside.read_bytes()}, {"requirements.txt": b"x"}
        )
    assert outside.read_text("utf-8") == "sim==0.12.0\n"


KILLED = """
import os, signal, sys
from pathlib import Path
from harness.pins import transaction
root, when = Path(sys.argv[1]), int(sys.argv[2])
before = {p: (root / p).read_bytes() for p in sys.argv[3:]}
calls, replace = 0, Path.replace
def killing(self, target):
    global calls
    calls += 1
    if calls == when:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)
Path.replace = killing
transaction.write_all(root, before, {p: b"sim==0.13.0\\n" for p in before})
"""


@pytest.mark.parametrize("when", [1, 2, 3, 4, 5])
def test_killed_between_two_exchanges(when: int, tmp_path: Path) -> None:
    """The next writing command finds the journal and puts the old files back."""
    root = write(tmp_path, FILES)
    state = {path: data for path, data in contents(root).items() if path in FILES}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(root), str(when), *FILES], timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL
    half = {path: data for path, data in contents(root).items() if path in FILES}
    # The first exchange is the journal's own: with it nothing else has happened yet.
    assert (half == state) is (when <= 2)
    transaction.recover(root)
    assert {path: data for path, data in contents(root).items() if path in FILES} == state
    assert not (root / transaction.JOURNAL).exists()


def test_a_killed_run_is_undone_by_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, FILES)
    subprocess.run([sys.executable, "-c", KILLED, str(root), "4", *FILES], timeout=60, check=False)
    assert main(["pins", "sync", "--root", str(root)]) == 0
    assert "is back as it was" in capsys.readouterr().err
    assert all((root / path).read_bytes() == b"sim==0.13.0\n" for path in FILES)


def test_signals_wait_until_all_files_are_exchanged(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    program = KILLED.replace("signal.SIGKILL", "signal.SIGTERM")
    done = subprocess.run(
        [sys.executable, "-c", program, str(root), "3", *FILES], timeout=60, check=False
    )
    assert done.returncode == -signal.SIGTERM
    assert all((root / path).read_bytes() == b"sim==0.13.0\n" for path in FILES)
    assert not (root / transaction.JOURNAL).exists()
