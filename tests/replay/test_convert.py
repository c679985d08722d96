"""`replay-sim convert`: another format, or nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import replay_sim
from tests.replay.conftest import Run

pytestmark = [pytest.mark.pre_merge, pytest.mark.e2e, pytest.mark.gpu_0]


def test_a_converted_trace_replays_the_same(
    replay_sim_command: Run, write_trace: Callable[..., Path], tmp_path: Path
) -> None:
    trace = write_trace((3, 700, 4, [1 << 40, 7]), (9, 1024, 2, [1 << 40, 8]))
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    target = tmp_path / "dynamo.jsonl"
    done = replay_sim_command("convert", packed, "--to", "dynamo", "-o", target)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "2 requests; read them with --trace-format dynamo --trace-block-size 512\n"
    )
    before = replay_sim.run(trace, router="kv_router")
    after = replay_sim.run(target, router="kv_router", trace_format="dynamo")
    assert before.summary == after.summary
    assert before.requests == after.requests


def test_nothing_is_written_when_a_field_would_be_lost(
    replay_sim_command: Run, write_trace: Callable[..., Path], tmp_path: Path
) -> None:
    trace = write_trace((0, 512, 2, [1]), (1, 512, 2, [1]))
    target = tmp_path / "out.csv"
    target.write_text("before")
    done = replay_sim_command("convert", trace, "--to", "azure", "-o", target)
    assert done.returncode == 2
    assert "azure without loss: hash_ids" in done.stderr
    assert target.read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"trace.jsonl", "out.csv"}


def test_a_target_that_cannot_be_is_refused(
    write_trace: Callable[..., Path], tmp_path: Path
) -> None:
    trace = write_trace((0, 512, 2, [1]))
    with pytest.raises(replay_sim.ConfigError, match="leave out"):
        replay_sim.convert(trace, to="mooncake", output=tmp_path / "out.gz")
    with pytest.raises(replay_sim.ConfigError, match="mkdir"):
        replay_sim.convert(trace, to="mooncake", output=tmp_path / "none" / "out")
    with pytest.raises(replay_sim.ConfigError, match="moon"):
        replay_sim.convert(trace, to="moon", output=tmp_path / "out")
    done = replay_sim.convert(trace, to="mooncake", output=tmp_path / "out")
    assert done == (1, 512)
    assert json.loads((tmp_path / "out").read_text())["hash_ids"] == [0]
