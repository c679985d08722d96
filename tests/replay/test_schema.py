"""The published schemas take every real document and refuse every fault planted in one."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import replay_sim
from replay_sim import planner
from replay_sim.schemas import SCHEMAS, schema

from .conftest import Run

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

RUNS: tuple[dict[str, Any], ...] = (
    {},
    {"workers": 4, "router": "kv_router", "sla_ttft": 100},
    {"workers": 2, "dp_size": 2, "max_sim_time": 5},
    {"num_gpu_blocks": 60, "block_size": 16},
    {"concurrency": 3, "timing": "fixed:10,1", "sla_itl": 1},
)


def validator(of: str) -> jsonschema.Draft202012Validator:
    document = schema(of)
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def documents(of: str, sample: Path, settings: dict[str, Any]) -> list[Any]:
    """Real documents of a kind; at most a few rows, all alike."""
    if of == "inspection":
        return [replay_sim.inspect(sample)]
    if of == "plan":
        config = planner.validate({"backend": "vllm", "sla": {"ttft_ms": 1000}, "goodput": 0.5})
        return [json.loads(json.dumps(planner.plan(sample, config=config)))]
    if of == "config":
        return [{}, replay_sim.resolve_config(**settings), {"trace": {"paths": ["a.jsonl"]}}]
    result = replay_sim.run(sample, **settings)
    return [result.report] if of == "report" else result.requests


def faults(of: str, document: Any) -> Iterator[tuple[str, Any]]:
    """Every way to spoil one field of a document, its own tables included."""

    def places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        # The settings of a report have a schema of their own, open for the ones to come.
        if path in {("configuration",), ("engine", "timing")} or "figures" in path:
            return
        yield path
        inner: list[tuple[Any, Any]] = []
        if isinstance(value, dict):
            inner = list(value.items())
        elif isinstance(value, list):
            inner = list(enumerate(value[:1]))
        for key, item in inner:
            yield from places(item, (*path, key))

    def spoilt(path: tuple[Any, ...], change: Callable[[Any, Any], object]) -> Any:
        copied = copy.deepcopy(document)
        place = copied
        for key in path[:-1]:
            place = place[key]
        change(place, path[-1])
        return copied

    def set_wrong_type(place: Any, key: Any) -> None:
        place[key] = [[]]

    for path in places(document, ()):
        if not path:
            yield "an unknown field", {**document, "surprise": 1}
            continue
        name = ".".join(map(str, path))
        yield f"{name}: a wrong type", spoilt(path, set_wrong_type)
        # What a configuration leaves out has a default; pools and goodput are not always there.
        free = of == "config" or path[-1] == "aggregated" or isinstance(path[-1], int)
        if not free and not path[-1].startswith("goodput_"):
            yield f"{name}: missing", spoilt(path, dict.pop)


@pytest.mark.parametrize("settings", RUNS, ids=lambda settings: "-".join(settings) or "defaults")
@pytest.mark.parametrize("of", ["report", "requests", "config"])
def test_real_documents_are_valid(of: str, settings: dict[str, Any], sample: Path) -> None:
    check = validator(of)
    found = documents(of, sample, settings)
    assert found
    for document in found:
        check.validate(document)


@pytest.mark.parametrize("of", SCHEMAS)
def test_every_planted_fault_is_refused(of: str, sample: Path) -> None:
    check = validator(of)
    settings = {"workers": 2, "router": "kv_router", "sla_ttft": 100}
    document = json.loads(json.dumps(documents(of, sample, settings)[0 if of != "config" else 1]))
    check.validate(document)
    planted = list(faults(of, document))
    assert len(planted) > 15
    for name, spoilt in planted:
        assert not check.is_valid(spoilt), name


def test_a_negative_figure_is_refused(sample: Path) -> None:
    report: dict[str, Any] = json.loads(replay_sim.run(sample).report_json())
    for name in ("num_requests", "mean_ttft_ms"):
        spoilt = copy.deepcopy(report)
        spoilt["summary"][name] = -1
        assert not validator("report").is_valid(spoilt), name


@pytest.mark.parametrize(
    "wrong",
    [
        {"router": {"policy": "random"}},
        {"engine": {"blok_size": 64}},
        {"engine": {"block_size": -1}},
        {"engine": {"max_model_len": "long"}},
        {"cluster": []},
        {"seed": 1.5},
    ],
    ids=str,
)
def test_the_core_refuses_what_the_schema_refuses(wrong: dict[str, Any]) -> None:
    assert not validator("config").is_valid(wrong)
    with pytest.raises(replay_sim.ConfigError):
        replay_sim.resolve_config(wrong)


def test_the_command_prints_the_schema(replay_sim_command: Run) -> None:
    for of in SCHEMAS:
        done = replay_sim_command("schema", of)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == schema(of)
    assert replay_sim_command("schema", "nothing").returncode == 2
