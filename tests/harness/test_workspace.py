"""The build folder: one writer, no leftovers, no half-made results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.errors import ToolError
from harness.workspace import GIB, Workspace

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_scratch_is_gone_afterwards_and_published_results_stay(workspace: Workspace) -> None:
    with workspace.scratch() as folder:
        (folder / "result").mkdir()
        (folder / "result" / "file").write_text("new")
        workspace.publish(folder / "result", workspace.build / "result")
    assert not folder.exists()
    assert (workspace.build / "result" / "file").read_text() == "new"


def test_publishing_replaces_the_whole_folder(workspace: Workspace) -> None:
    target = workspace.build / "result"
    target.mkdir(parents=True)
    (target / "stale").touch()
    with workspace.scratch() as folder:
        (folder / "result").mkdir()
        workspace.publish(folder / "result", target)
    assert list(target.iterdir()) == []
    assert [path.name for path in workspace.build.iterdir()] == ["result"]


def test_a_failed_step_leaves_the_old_result(workspace: Workspace) -> None:
    target = workspace.build / "result"
    target.mkdir(parents=True)
    (target / "old").touch()

    def fail() -> None:
        with workspace.scratch() as folder:
            (folder / "result").mkdir()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in target.iterdir()] == ["old"]
    assert [path.name for path in workspace.build.iterdir()] == ["result"]


@pytest.mark.timeout(30)
def test_a_killed_run_leaves_nothing_that_the_next_one_trips_over(workspace: Workspace) -> None:
    program = textwrap.dedent(f"""
        import time
        from pathlib import Path
        from harness.workspace import Workspace
        w = Workspace(Path({str(workspace.root)!r}))
        with w.locked(), w.scratch() as folder:
            (folder / "half").write_text("x")
            print("ready", flush=True)
            time.sleep(60)
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        # Positive control: the half-made folder is there, and the lock is held.
        assert len(list(workspace.build.glob("scratch-*"))) == 1
        os.kill(child.pid, signal.SIGKILL)
    start = time.monotonic()
    with workspace.locked():
        assert list(workspace.build.glob("scratch-*")) == []
    assert time.monotonic() - start < 20


def test_too_little_space_is_said_before_anything_starts(workspace: Workspace) -> None:
    workspace.require_space(1)
    with pytest.raises(ToolError, match="GiB needed") as caught:
        workspace.require_space(1 << 60)
    assert str(workspace.root) in str(caught.value)
    # A folder that is not there yet is judged by the file system that it will be on.
    workspace.require_space(1, workspace.root / "not" / "yet")
    assert GIB == 2**30
