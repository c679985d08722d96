"""`replay_sim.run`: results, types, determinism, progress."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import replay_sim
from replay_sim import types

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

#: Blocks of 16 tokens; 10 ms for the prefill part of a pass, 1 ms for its decode part.
SMALL: dict[str, Any] = {
    "trace": {"block_size": 16},
    "engine": {
        "block_size": 16,
        "timing": {"type": "fixed", "prefill_ms": 10, "decode_ms": 1},
    },
}


def test_a_replay_by_hand(write_trace: Callable[..., Path]) -> None:
    trace = write_trace((0, 32, 4, [1, 2]), (3, 32, 1, [1, 3]))
    result = replay_sim.run(trace, config=SMALL)
    assert [row["first_token_ms"] for row in result.requests] == [10.0, 21.0]
    assert [row["reused_input_tokens"] for row in result.requests] == [0, 16]
    summary = result.summary
    assert summary["mean_ttft_ms"] == (10 + 18) / 2
    assert summary["mean_itl_ms"] == (11 + 1 + 1) / 3
    assert summary["duration_ms"] == 23.0
    assert summary["total_output_tokens"] == 5
    assert summary["request_throughput_rps"] == 2 / 0.023
    assert summary["prefix_cache_reused_ratio"] == 0.25


def test_the_declared_shapes_are_the_real_ones(sample: Path) -> None:
    result = replay_sim.run(sample, workers=2, sla_ttft=100)
    shapes: list[tuple[type, Any]] = [
        (types.Report, result.report),
        (types.Tool, result.report["tool"]),
        (types.TraceInfo, result.report["trace"]),
        (types.Summary, result.summary),
        (types.RequestRow, result.requests[0]),
        (types.Routing, result.requests[0]["routing_history"][0]),
        (types.Admission, result.requests[0]["admission_history"][0]),
    ]
    for shape, value in shapes:
        assert set(get_type_hints(shape)) == set(value), shape.__name__


def test_a_warning_has_its_declared_shape(tmp_path: Path) -> None:
    row = {"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1], "odd": 1}
    trace = tmp_path / "odd.jsonl"
    trace.write_text(json.dumps(row), encoding="utf-8")
    (warning,) = replay_sim.run(trace).report["trace"]["warnings"]
    assert set(get_type_hints(types.TraceWarning)) == set(warning)
    assert (warning["code"], warning["line"], warning["count"]) == ("unknown-field", 1, 1)


@pytest.mark.parametrize("router", ["round_robin", "kv_router"])
def test_the_same_input_gives_the_same_bytes(sample: Path, router: Any) -> None:
    first, second = (replay_sim.run(sample, workers=4, router=router, seed=3) for _ in range(2))
    assert first.report_json() == second.report_json()
    assert first.requests == second.requests
    other = replay_sim.run(sample, workers=3, router=router, seed=3)
    assert first.report_json() != other.report_json()


def test_the_seed_reaches_the_router(sample: Path) -> None:
    def workers(seed: int) -> list[int]:
        result = replay_sim.run(sample, workers=4, router="kv_router", seed=seed)
        return [row["decode_worker_idx"] for row in result.requests]

    assert workers(1) == workers(1)
    assert workers(1) != workers(2)


def test_the_kv_router_reuses_more_than_round_robin(sample: Path) -> None:
    ratios = []
    for router in ("round_robin", "kv_router"):
        result = replay_sim.run(sample, config={"router": {"policy": router}}, workers=4)
        ratios.append(result.summary["first_admission_prefix_cache_reused_ratio"])
    assert ratios[0] is not None
    assert ratios[1] is not None
    assert ratios[1] > ratios[0] + 0.05


def test_the_report_holds_neither_paths_nor_host_time(sample: Path) -> None:
    result = replay_sim.run(sample)
    text = result.report_json()
    assert str(sample) not in text
    assert sample.name not in text
    assert "wall" not in text
    assert result.wall_seconds > 0


def test_the_configuration_of_a_report_repeats_it(sample: Path) -> None:
    first = replay_sim.run(sample, workers=3, router="kv_router", block_size=16, sla_itl=20)
    again = replay_sim.run(sample, config=first.report["configuration"])
    assert again.report_json() == first.report_json()


def test_the_report_names_the_trace_by_its_content(sample: Path, tmp_path: Path) -> None:
    import hashlib

    digest = hashlib.sha256(sample.read_bytes()).hexdigest()
    assert replay_sim.run(sample).report["trace"]["sha256"] == [digest]
    assert replay_sim.run(sample).report["schema"] == "replay-sim/report/v1"


def test_gzip_changes_nothing_but_the_digest(sample: Path, tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "sample.jsonl.gz"
    packed.write_bytes(gzip.compress(sample.read_bytes()))
    plain, unpacked = replay_sim.run(sample), replay_sim.run(packed)
    assert unpacked.summary == plain.summary
    assert unpacked.report["trace"]["sha256"] != plain.report["trace"]["sha256"]


def test_rows_on_disk_are_the_rows_of_the_result(sample: Path, tmp_path: Path) -> None:
    result = replay_sim.run(sample, workers=2)
    result.write_requests(tmp_path / "rows.jsonl")
    result.write_report(tmp_path / "report.json")
    text = (tmp_path / "rows.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()] == result.requests
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == result.report_json()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "rows.jsonl"]


@pytest.fixture
def endless(write_trace: Callable[..., Path]) -> tuple[Path, dict[str, Any]]:
    """A trace whose replay takes minutes, and its settings."""
    cache = {"block_size": 16, "num_gpu_blocks": 2**24, "timing": SMALL["engine"]["timing"]}
    rows = [(index, 16, 250_000_000, [1]) for index in range(20)]
    return write_trace(*rows), {"trace": {"block_size": 16}, "engine": cache}


def test_what_the_progress_callback_raises_ends_the_replay(
    endless: tuple[Path, dict[str, Any]],
) -> None:
    seen: list[replay_sim.Progress] = []

    def stop(progress: replay_sim.Progress) -> None:
        seen.append(progress)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        replay_sim.run(endless[0], config=endless[1], progress=stop)
    assert len(seen) == 1
    assert seen[0].total == 20
    assert seen[0].now_ms > 0


def test_other_threads_run_meanwhile(endless: tuple[Path, dict[str, Any]]) -> None:
    done = threading.Event()
    turns = 0

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1

    counted: list[int] = []

    def stop(_: replay_sim.Progress) -> None:
        # The second call: between the two, nothing of the replay needs the interpreter.
        counted.append(turns)
        if len(counted) == 2:
            raise LookupError

    thread = threading.Thread(target=count)
    thread.start()
    try:
        with pytest.raises(LookupError):
            replay_sim.run(endless[0], config=endless[1], progress=stop)
    finally:
        done.set()
        thread.join(timeout=30)
    assert counted[1] - counted[0] > 1000


def test_inspection_has_its_declared_shape(sample: Path) -> None:
    found = replay_sim.inspect(sample)
    assert set(get_type_hints(types.Inspection)) == set(found)
    assert set(get_type_hints(types.Statistics)) == set(found["input_length"])
    assert (found["requests"], found["sessions"]) == (200, 60)
    summary = replay_sim.run(sample).summary
    assert found["input_tokens"] == summary["total_input_tokens"]
    assert found["output_tokens"] == summary["total_output_tokens"]
    reached = summary["first_admission_prefix_cache_reused_ratio"]
    assert reached is not None
    assert 0 < reached <= found["best_prefix_reuse"] < 1


def test_validation_names_wrong_lines(sample: Path, tmp_path: Path) -> None:
    assert replay_sim.validate(sample) == ([], 0, 200)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{\n" + sample.read_text(encoding="utf-8") + "{\n", encoding="utf-8")
    found = replay_sim.validate(bad, limit=1)
    assert (found.wrong, found.requests) == (2, 200)
    assert found.messages[0].startswith(f"{bad}:1: not a JSON object")
    assert len(found.messages) == 1


def test_errors_have_one_base(write_trace: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(replay_sim.TraceError, match=r"nowhere\.jsonl: cannot be read"):
        replay_sim.run(tmp_path / "nowhere.jsonl")
    with pytest.raises(replay_sim.ConfigError, match="no file given"):
        replay_sim.run()
    assert issubclass(replay_sim.TraceError, replay_sim.ReplayError)
    assert issubclass(replay_sim.ConfigError, replay_sim.ReplayError)
