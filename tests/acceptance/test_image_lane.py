"""The image lane: locked down, ended at its time, and leaving no container behind."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.smoke.containers import LABEL, owner, remove_containers
from harness.smoke.image_facts import inspect
from harness.smoke.lanes.image import ImageLane, NoGpuError
from harness.smoke.lanes.lane import workspace
from harness.smoke.outcome import Outcome

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

WRITES = """
import json, os, pathlib, sys
def can_write(folder):
    try:
        pathlib.Path(folder, "x").write_text("x")
        return True
    except OSError:
        return False
print(json.dumps({name: can_write(name) for name in sys.argv[1:]} | {"uid": os.getuid()}))
"""


def python(lane: ImageLane, *args: str, timeout: float = 60) -> Outcome:
    with workspace({"in.txt": "in"}, None) as work:
        return lane.run("python", ["-I", "-c", *args], work=work, timeout=timeout)


def containers(lane: ImageLane) -> list[str]:
    """The ids of the containers that this process still has."""
    found = lane.client.containers.list(all=True, filters={"label": [f"{LABEL}={owner()}"]})
    return [str(container.id) for container in found]


def test_only_the_output_folder_can_be_written(cpu_lane: ImageLane) -> None:
    outcome = python(cpu_lane, WRITES, "/", "/opt/replay", "/smoke/inputs", "/smoke/out")
    found = json.loads(outcome.stdout)
    assert found.pop("uid") != 0
    assert found == {"/": False, "/opt/replay": False, "/smoke/inputs": False, "/smoke/out": True}
    assert outcome.files == {"x": b"x"}


def test_streams_and_exit_code_come_back(cpu_lane: ImageLane) -> None:
    outcome = python(
        cpu_lane, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    )
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (7, b"out\n", b"err\n")
    assert containers(cpu_lane) == []


def test_time_out(cpu_lane: ImageLane) -> None:
    outcome = python(cpu_lane, "import time; print(1, flush=True); time.sleep(60)", timeout=3)
    assert outcome.timed_out
    assert outcome.exit_code == 124
    assert outcome.stdout == b"1\n"
    assert containers(cpu_lane) == []


def test_containers_of_a_killed_run_are_removed(cpu_lane: ImageLane) -> None:
    # No process has an id beyond the kernel's limit: the run of this container is gone.
    gone = f"{owner().rpartition(':')[0]}:{int(Path('/proc/sys/kernel/pid_max').read_text()) + 1}"
    other = f"another-machine:{os.getpid()}"
    made = {
        label: cpu_lane.client.containers.create(cpu_lane.facts.id, labels={LABEL: label})
        for label in (gone, other, owner())
    }
    try:
        remove_containers(cpu_lane.client, of_this_process=False)
        left = {str(c.id) for c in cpu_lane.client.containers.list(all=True)}
        assert {label for label, c in made.items() if c.id in left} == {other, owner()}
        remove_containers(cpu_lane.client, of_this_process=True)
        assert containers(cpu_lane) == []
    finally:
        made[other].remove(force=True)


def test_no_such_image(cpu_lane: ImageLane) -> None:
    with pytest.raises(InputError, match="no such image") as caught:
        inspect(cpu_lane.client, "replay-sim:absent")
    assert caught.value.fix == "make images"


def test_gpu_is_refused_by_name_or_given(cpu_lane: ImageLane) -> None:
    """Where there is no GPU the engine's refusal is recognised; nothing else may come of it."""
    try:
        outcome = python(replace(cpu_lane, gpus=True), "print('started')")
    except NoGpuError:
        assert not Path("/dev/nvidiactl").exists()
    else:
        assert outcome.stdout == b"started\n"
    assert containers(cpu_lane) == []


def test_equivalent_command_says_what_was_run(cpu_lane: ImageLane) -> None:
    command = python(cpu_lane, "print()").command_line
    for words in ("--network none", "--read-only", "--cap-drop ALL", ":/smoke/inputs:ro"):
        assert words in command
