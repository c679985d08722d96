"""The configuration of a planner: what may serve a trace, and what it must reach."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from replay_sim import api, timing
from replay_sim.errors import ConfigError


class PlannerConfigError(ConfigError, ValueError):
    """A planner configuration is wrong; the message names the setting and the fix."""


class Backend(NamedTuple):
    """What the planner can plan for."""

    #: The engine model that stands for it.
    engine: str
    #: Accelerators that may share the weights of one worker.
    tensor_parallel: tuple[int, ...]
    #: The performance model when none is given, and the tensor-parallel size that it was fitted
    #: with; None = one must be given.
    default_model: tuple[str, int] | None


BACKENDS: Mapping[str, Backend] = {
    "mocker": Backend("vllm", (1, 2, 4, 8, 16), None),
    "vllm": Backend("vllm", (1, 2, 4, 8), ("polynomial", 1)),
}

#: Where the numbers of a performance model come from.
SOURCES = {
    "polynomial": "polynomials in the tokens of a pass, fitted to a dense model on one accelerator",
    "fixed": "the two times of the specification",
    "table": "the measured times of the specification, interpolated",
}

#: Settings of a replay that the planner decides, and its own setting for each.
OWNED = {
    "engine.backend": "backend",
    "engine.tensor_parallel_size": "tensor_parallel_size",
    "engine.timing": "performance_model",
    "sla": "sla",
    "cluster": "max_workers",
}


@dataclass(frozen=True)
class PerformanceModel:
    """How long a forward pass takes, and who says so."""

    #: As `engine.timing` of a replay.
    specification: Mapping[str, Any]
    #: Whether the configuration gave it or the backend's default was taken.
    provenance: Literal["explicit", "default"]
    #: Where its numbers come from.
    source: str


@dataclass(frozen=True)
class PlannerConfig:
    """A planner configuration that was checked."""

    backend: str
    tensor_parallel_size: int
    performance_model: PerformanceModel
    #: Share of all requests that must meet the SLA, above 0 and at most 1.
    goodput: float
    #: The search ends there.
    max_workers: int
    #: The document of every replay, without the number of workers, every default explicit.
    replay: Mapping[str, Any]


def validate(config: Mapping[str, Any]) -> PlannerConfig:
    """Check a planner configuration.

    Args:
        config: `backend`, `sla` (`ttft_ms`, `itl_ms`), and perhaps `tensor_parallel_size` (1),
            `performance_model` (as `engine.timing` of a replay), `goodput` (0.99), `max_workers`
            (64), and `replay`: the other settings of a replay.

    Raises:
        PlannerConfigError: a setting is unknown, missing or wrong; it is a ValueError.
    """
    defaults: dict[str, Any] = {
        "backend": None,
        "sla": {},
        "tensor_parallel_size": 1,
        "performance_model": None,
        "goodput": 0.99,
        "max_workers": 64,
        "replay": {},
    }
    for key in config:
        if key not in defaults:
            near = difflib.get_close_matches(key, defaults, n=1)
            fix = f"did you mean {near[0]}?" if near else f"use one of {', '.join(defaults)}"
            raise _wrong(key, "there is no such setting", fix)
    given = {**defaults, **config}
    name, backend = _backend(given["backend"])
    parallel = _tensor_parallel(name, backend, given["tensor_parallel_size"])
    specification, provenance = _model(name, backend, parallel, given["performance_model"])
    goodput, workers = given["goodput"], given["max_workers"]
    if not _is_number(goodput) or not 0 < goodput <= 1:
        raise _wrong("goodput", f"{goodput!r} is not a share", "give a number, above 0, at most 1")
    if not _is_count(workers):
        raise _wrong("max_workers", f"{workers!r} is not a number of workers", "give at least 1")
    return PlannerConfig(
        backend=name,
        tensor_parallel_size=parallel,
        performance_model=PerformanceModel(
            specification, provenance, SOURCES.get(specification["type"], "the specification")
        ),
        goodput=float(goodput),
        max_workers=workers,
        replay=_replay(given["replay"], backend.engine, parallel, specification, given["sla"]),
    )


def _backend(name: Any) -> tuple[str, Backend]:
    if not isinstance(name, str) or name not in BACKENDS:
        what = "is missing" if name is None else f"{name!r} is not supported"
        raise _wrong("backend", what, f"use one of {', '.join(BACKENDS)}")
    return name, BACKENDS[name]


def _tensor_parallel(name: str, backend: Backend, size: Any) -> int:
    if not _is_count(size) or size not in backend.tensor_parallel:
        fix = f"use one of {', '.join(map(str, backend.tensor_parallel))}"
        raise _wrong("tensor_parallel_size", f"{name} does not support {size!r}", fix)
    return int(size)


def _model(
    name: str, backend: Backend, parallel: int, given: Any
) -> tuple[Mapping[str, Any], Literal["explicit", "default"]]:
    example = (
        'such as {"type": "polynomial"} or {"type": "fixed", "prefill_ms": 10, "decode_ms": 1}'
    )
    if given is not None:
        if not isinstance(given, Mapping) or "type" not in given:
            raise _wrong("performance_model", f"{given!r} has no type", f"give one, {example}")
        return timing.resolve(dict(given), Path()), "explicit"
    if backend.default_model is None:
        what = f"the {name} backend has no performance of its own, and no model is given"
        raise _wrong("performance_model", what, f"add performance_model, {example}")
    model, fitted = backend.default_model
    if parallel != fitted:
        what = f"the default ({model}) holds for tensor_parallel_size {fitted}, not {parallel}"
        raise _wrong("performance_model", what, f"add performance_model, {example}")
    return {"type": model}, "default"


def _replay(
    given: Any, engine: str, parallel: int, model: Mapping[str, Any], sla: Any
) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise _wrong("replay", f"{given!r} is not a table of settings", "nest them")
    if not isinstance(sla, Mapping) or not any(bound is not None for bound in sla.values()):
        raise _wrong("sla", "has no bound", "give ttft_ms, itl_ms or both, in milliseconds")
    for setting, own in OWNED.items():
        table, _, key = setting.partition(".")
        if key and not isinstance(given.get(table, {}), Mapping):
            raise _wrong(f"replay.{table}", f"{given[table]!r} is not a table", "nest its settings")
        if table in given and (not key or key in given[table]):
            raise _wrong(f"replay.{setting}", "the planner decides it", f"use {own} instead")
    document = {**given, "sla": dict(sla)}
    own_engine = {"backend": engine, "tensor_parallel_size": parallel, "timing": dict(model)}
    document["engine"] = {**document.get("engine", {}), **own_engine}
    try:
        resolved = api.resolve_config(json.loads(json.dumps(document)))
    except ConfigError as error:
        raise PlannerConfigError(str(error)) from error
    del resolved["cluster"]
    return resolved


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _wrong(setting: str, what: str, fix: str) -> PlannerConfigError:
    return PlannerConfigError(f"{setting}: {what}\n  fix: {fix}")
