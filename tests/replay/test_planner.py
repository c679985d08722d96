"""Planner configurations, and the search for the fewest workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import replay_sim
from replay_sim import planner
from replay_sim.planner import search
from tests.replay.conftest import Run

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

FIXED = {"type": "fixed", "prefill_ms": 10, "decode_ms": 1}
SLA = {"ttft_ms": 10}
#: Blocks of 16 tokens and one request at a time: a second request on a worker waits for the first.
SMALL: dict[str, Any] = {
    "trace": {"block_size": 16},
    "engine": {"block_size": 16, "max_num_seqs": 1},
}


def config(**changes: Any) -> dict[str, Any]:
    return {
        "backend": "mocker",
        "performance_model": FIXED,
        "sla": SLA,
        "replay": SMALL,
        **changes,
    }


@pytest.fixture
def burst(write_trace: Callable[..., Path]) -> Path:
    """Five requests at once: only five workers give each its first token after one pass."""
    return write_trace(*[(0, 16, 1, [index]) for index in range(5)])


def test_the_mocker_needs_an_explicit_performance_model() -> None:
    with pytest.raises(ValueError, match="add performance_model, such as") as caught:
        planner.validate({"backend": "mocker", "sla": SLA})
    assert isinstance(caught.value, replay_sim.ConfigError)
    checked = planner.validate({"backend": "mocker", "sla": SLA, "performance_model": FIXED})
    assert checked.performance_model.provenance == "explicit"
    assert checked.replay["engine"]["timing"] == FIXED


def test_a_backend_with_a_default_model_says_so() -> None:
    checked = planner.validate({"backend": "vllm", "sla": SLA})
    model = checked.performance_model
    assert (model.specification, model.provenance) == ({"type": "polynomial"}, "default")
    assert "one accelerator" in model.source
    assert (checked.goodput, checked.max_workers, checked.tensor_parallel_size) == (0.99, 64, 1)
    with pytest.raises(ValueError, match="holds for tensor_parallel_size 1, not 2"):
        planner.validate({"backend": "vllm", "sla": SLA, "tensor_parallel_size": 2})


@pytest.mark.parametrize(
    ("backend", "size"),
    [
        (name, size)
        for name, backend in planner.BACKENDS.items()
        for size in backend.tensor_parallel
    ],
)
def test_every_row_of_the_table_is_accepted(backend: str, size: int) -> None:
    checked = planner.validate(config(backend=backend, tensor_parallel_size=size))
    assert checked.replay["engine"]["tensor_parallel_size"] == size
    assert checked.replay["engine"]["backend"] == planner.BACKENDS[backend].engine


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backend": "mock"}, "backend: 'mock' is not supported"),
        ({"backend": None}, "backend: is missing"),
        ({"tensor_parallel_size": 3}, "mocker does not support 3"),
        ({"tensor_parallel_size": True}, "does not support True"),
        ({"performance_model": {}}, "has no type"),
        ({"performance_model": {"type": "guess"}}, "unknown variant `guess`"),
        ({"sla": {}}, "sla: has no bound"),
        ({"sla": {"ttft_ms": -1}}, "sla.ttft_ms"),
        ({"sla": {"tft_ms": 1}}, "did you mean sla.ttft_ms"),
        ({"goodput": 0}, "goodput: 0 is not a share"),
        ({"goodput": 1.01}, "is not a share"),
        ({"goodput": float("nan")}, "is not a share"),
        ({"max_workers": 0}, "max_workers: 0"),
        ({"max_worker": 4}, "did you mean max_workers"),
        ({"replay": {"cluster": {"workers": 3}}}, "use max_workers instead"),
        ({"replay": {"engine": {"timing": FIXED}}}, "use performance_model instead"),
        ({"replay": {"engine": {"blok_size": 16}}}, "did you mean engine.block_size"),
        ({"replay": 5}, "replay: 5 is not a table"),
        ({"replay": {"engine": 5}}, "engine: 5 is not a table"),
    ],
)
def test_wrong_configurations_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(planner.PlannerConfigError, match=message):
        planner.validate(config(**changes))


@pytest.mark.parametrize("most", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("needed", range(1, 20))
def test_the_search_asks_for_its_answer_and_for_one_less(needed: int, most: int) -> None:
    asked: list[int] = []

    def meets(workers: int) -> bool:
        asked.append(workers)
        return workers >= needed

    found = search._fewest(meets, lambda: False, most)
    assert found == (needed if needed <= most else None)
    assert max(asked) <= most
    assert len(set(asked)) == len(asked)
    if found is not None:
        assert {found, found - 1} - {0} <= set(asked)


def test_the_fewest_workers_by_hand(burst: Path) -> None:
    found = planner.plan(burst, config=planner.validate(config()))
    assert found["plan"] == {"aggregated": 5}
    assert found["best"]["goodput"] == 1.0
    smaller = found["next_smaller"]
    assert smaller is not None
    assert (smaller["workers"], smaller["goodput"]) == ({"aggregated": 4}, 0.8)
    assert [probe["workers"]["aggregated"] for probe in found["probes"]] == [1, 2, 4, 5, 6, 8]
    assert found["configuration"]["performance_model"]["provenance"] == "explicit"
    eight_tenths = planner.plan(burst, config=planner.validate(config(goodput=0.8)))
    assert eight_tenths["plan"] == {"aggregated": 4}


def test_one_worker_has_nothing_below_it(burst: Path) -> None:
    found = planner.plan(burst, config=planner.validate(config(sla={"ttft_ms": 1000})))
    assert (found["plan"], found["next_smaller"]) == ({"aggregated": 1}, None)


def test_no_plan_says_why(burst: Path, write_trace: Callable[..., Path]) -> None:
    found = planner.plan(burst, config=planner.validate(config(max_workers=3)))
    assert (found["plan"], found["best"]["workers"]) == (None, {"aggregated": 3})
    assert found["reason"] == (
        "3 workers reach a goodput of 60.00% instead of 99.00%; allow more workers, or a looser SLA"
    )
    huge = write_trace((0, 16, 1, [1]), (0, 16, 10**9, [2]), name="huge.jsonl")
    found = planner.plan(huge, config=planner.validate(config()))
    assert "1 requests can never fit" in (found["reason"] or "")
    assert len(found["probes"]) == 1


def test_a_plan_has_its_declared_shape(burst: Path) -> None:
    found = planner.plan(burst, config=planner.validate(config()))
    assert set(get_type_hints(planner.Plan)) == set(found)
    assert set(get_type_hints(planner.Probe)) == set(found["best"])
    assert found == planner.plan(burst, config=planner.validate(config()))


def test_the_command_prints_the_plan(replay_sim_command: Run, burst: Path, tmp_path: Path) -> None:
    arguments: tuple[object, ...] = (
        "plan", burst, "--backend", "mocker", "--timing", "fixed:10,1", "--sla-ttft", 10,
        "--block-size", 16, "--trace-block-size", 16, "--max-num-seqs", 1,
    )  # fmt: skip
    done = replay_sim_command(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 aggregated workers" in done.stdout
    assert "80.00%, 4 of 5 requests: 1 requests too few" in done.stdout
    assert "fixed (explicit)" in done.stdout
    as_json = replay_sim_command(*arguments, "--format", "json")
    checked = planner.validate(config())
    assert json.loads(as_json.stdout) == json.loads(json.dumps(planner.plan(burst, config=checked)))
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(config(goodput=0.8)), encoding="utf-8")
    assert "4 aggregated workers" in replay_sim_command("plan", burst, "-c", path).stdout


def test_the_command_fails_without_a_plan(replay_sim_command: Run, burst: Path) -> None:
    small = ("--block-size", 16, "--trace-block-size", 16)
    done = replay_sim_command("plan", burst, *small, "--sla-ttft", 1, "--max-workers", 2)
    assert done.returncode == 1
    assert "no plan: 2 workers reach" in done.stderr
    done = replay_sim_command("plan", burst, *small)
    assert (done.returncode, done.stdout) == (2, "")
    assert "sla: has no bound" in done.stderr
    done = replay_sim_command("plan", burst, *small, "--sla-ttft", 1, "--backend", "mocker")
    assert done.returncode == 2
    assert "add performance_model" in done.stderr
