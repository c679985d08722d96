"""A router driven from Python places every request as the one that is compiled in."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kv_router
import replay_sim
from replay_sim import cli, options

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

CHECKOUT = Path(__file__).resolve().parent.parent.parent
CASES = CHECKOUT / "scripts" / "harness" / "smoke" / "cases"

#: Settings that no acceptance case has, so that every way to place a request is driven.
SETTINGS: dict[str, dict[str, Any]] = {
    "ranks": {"cluster": {"workers": 2, "dp_size": 2}},
    "waiting": {
        "cluster": {"workers": 2},
        "router": {"queue_threshold": 0.0, "queue_policy": "lcfs"},
    },
    "temperature": {"cluster": {"workers": 3}, "router": {"temperature": 0.7}, "seed": 5},
    "small-caches": {"cluster": {"workers": 2}, "engine": {"num_gpu_blocks": 200}},
    "slots": {"cluster": {"workers": 4}, "load": {"concurrency": 6}},
}


def acceptance_runs() -> Iterator[Any]:
    """Every run of an acceptance case that the KV router places and that ends well."""
    for path in sorted(CASES.glob("*.toml")):
        case = tomllib.loads(path.read_text(encoding="utf-8"))
        if path.stem.startswith("bad-"):
            continue
        matrix = case.get("matrix", {})
        for number, run in enumerate(case["run"]):
            for values in itertools.product(*matrix.values()):
                chosen = dict(zip(matrix, values, strict=True))
                arguments = [chosen.get(text.strip("{}"), text) for text in run["args"]]
                if "kv_router" in arguments:
                    name = "-".join([path.stem, run.get("name", str(number)), *values])
                    yield pytest.param(arguments, case.get("files", {}), id=name)


def drive(setup: str) -> Callable[[str], str]:
    return kv_router.OfflineRouter.from_json(setup).command


def assert_driven_equals_native(*traces: Path, **arguments: Any) -> None:
    native = replay_sim.run(*traces, **arguments)
    driven = replay_sim.run(*traces, host_router=drive, **arguments)
    assert driven.requests == native.requests
    assert driven.report_json() == native.report_json()


@pytest.mark.parametrize(("arguments", "files"), list(acceptance_runs()))
def test_acceptance_runs(
    arguments: list[str], files: dict[str, str], sample: Path, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text.lstrip("\n"), encoding="utf-8")
    places = {
        "trace": sample,
        "trace_format": "mooncake",
        "inputs": tmp_path,
        "out": tmp_path,
    }
    given = cli.build_parser().parse_args([text.format(**places) for text in arguments])
    assert given.config is None
    settings = {option.name: getattr(given, option.name) for option in options.OPTIONS}
    assert_driven_equals_native(*given.traces, **settings)


def test_there_are_acceptance_runs_with_a_router() -> None:
    assert len(list(acceptance_runs())) >= 5


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str, sample: Path) -> None:
    settings = json.loads(json.dumps(SETTINGS[name]))
    settings.setdefault("router", {})["policy"] = "kv_router"
    assert_driven_equals_native(sample, config=settings)


def test_another_router_places_otherwise(sample: Path) -> None:
    def reseeded(setup: str) -> Callable[[str], str]:
        document = json.loads(setup)
        document["config"]["seed"] += 1
        return drive(json.dumps(document))

    native = replay_sim.run(sample, workers=4, router="kv_router")
    driven = replay_sim.run(sample, workers=4, router="kv_router", host_router=reseeded)
    assert driven.requests != native.requests


def test_the_router_of_the_host_is_the_one_that_places(sample: Path) -> None:
    """Its evidence names the same placements as the rows of the replay."""
    routers: list[kv_router.OfflineRouter] = []

    def kept(setup: str) -> Callable[[str], str]:
        document = json.loads(setup)
        document["config"]["evidence_limit"] = 1000
        routers.append(kv_router.OfflineRouter.from_json(json.dumps(document)))
        return routers[0].command

    result = replay_sim.run(sample, workers=4, router="kv_router", host_router=kept)
    evidence = routers[0].evidence()
    placed = {row["request_id"]: row["worker_id"] for row in evidence["decisions"]}
    assert len(placed) == evidence["post_dispatch_checks"] == 200
    assert [placed[index] for index in range(200)] == [
        row["decode_worker_idx"] for row in result.requests
    ]
    assert evidence["physical_kv_events"] > 0


def test_what_the_router_of_the_host_raises_ends_the_replay(sample: Path) -> None:
    def broken(setup: str) -> Callable[[str], str]:
        raise LookupError("no router today")

    with pytest.raises(LookupError, match="no router today"):
        replay_sim.run(sample, router="kv_router", host_router=broken)


@pytest.mark.parametrize("answer", ["", "{}", '{"released": 3}', '{"error": {"kind": "clock"}}'])
def test_an_answer_that_is_none_is_named(answer: str, sample: Path) -> None:
    with pytest.raises(replay_sim.ReplayError, match="the host's router answered"):
        replay_sim.run(sample, router="kv_router", host_router=lambda _: lambda _: answer)


def test_round_robin_refuses_a_router_that_it_would_ignore(sample: Path) -> None:
    with pytest.raises(replay_sim.ConfigError, match=r"router\.policy: round_robin would never"):
        replay_sim.run(sample, host_router=drive)
