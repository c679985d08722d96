"""The fewest workers that meet an SLA: a search in which every probe is a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import PathLike
from typing import Any, TypedDict

from replay_sim import api
from replay_sim.planner.config import PlannerConfig
from replay_sim.types import Tool

SCHEMA = "replay-sim/plan/v1"
#: Figures of the summary that a probe keeps.
FIGURES = (
    "num_requests",
    "completed_requests",
    "rejected_requests",
    "unfinished_requests",
    "goodput_completed_requests",
    "mean_ttft_ms",
    "p99_ttft_ms",
    "mean_tpot_ms",
    "p99_tpot_ms",
    "gpu_hours",
)


class Probe(TypedDict):
    """One replay of the search."""

    #: Workers of each pool.
    workers: dict[str, int]
    #: Requests within the SLA over all requests, rejected and unfinished ones included.
    goodput: float
    meets_sla: bool
    #: Figures of the replay's summary, under their names there.
    figures: dict[str, float | int | None]


class Plan(TypedDict):
    """The outcome of a search. The same traces, configuration and version give the same one."""

    schema: str
    tool: Tool
    #: Of the bytes of each trace file.
    trace_sha256: list[str]
    #: The planner configuration, every default explicit.
    configuration: dict[str, Any]
    #: The fewest workers of each pool that meet the SLA; None = no plan does.
    plan: dict[str, int] | None
    #: Why no plan does.
    reason: str | None
    #: The replay of the plan; without a plan, the one with the most workers.
    best: Probe
    #: The replay with one worker less; None where the plan is the smallest there is.
    next_smaller: Probe | None
    #: Every replay, in order of workers.
    probes: list[Probe]


def plan(
    *traces: str | PathLike[str],
    config: PlannerConfig,
    progress: Callable[[Mapping[str, int], api.Progress], object] | None = None,
) -> Plan:
    """Find the fewest workers, each doing prefill and decode, that meet the SLA.

    The number is doubled until it is enough, then halved in between: about 2 log2(N) replays. That
    the answer is enough and one less is not are both replayed, never assumed. That goodput rises
    with workers is assumed: fewer still are not tried.

    Args:
        traces: the files, plain or gzip.
        config: from `validate`.
        progress: called as that of `replay_sim.run`, with the workers of the probe before it.

    Raises:
        ConfigError: the configuration does not fit the traces.
        TraceError: a trace file is wrong.
    """
    probes: dict[int, Probe] = {}
    results: list[api.Result] = []

    def meets(workers: int) -> bool:
        pools = {"aggregated": workers}
        watch = None if progress is None else lambda state: progress(pools, state)
        document = {**config.replay, "cluster": {"workers": workers}}
        result = api.run(*traces, config=document, progress=watch)
        results[:] = [result]
        probes[workers] = _probe(pools, result, config.goodput)
        return probes[workers]["meets_sla"]

    def impossible() -> bool:
        # A request that can never fit on a worker fits on none of more workers.
        figures = probes[1]["figures"]
        return _share(figures["rejected_requests"], figures["num_requests"]) > 1 - config.goodput

    found = _fewest(meets, impossible, config.max_workers)
    report = results[-1].report
    best = probes[found or max(probes)]
    return Plan(
        schema=SCHEMA,
        tool=report["tool"],
        trace_sha256=report["trace"]["sha256"],
        configuration=asdict(config),
        plan=None if found is None else best["workers"],
        reason=None if found is not None else _reason(best, impossible(), config),
        best=best,
        next_smaller=None if found is None else probes.get(found - 1),
        probes=[probes[workers] for workers in sorted(probes)],
    )


def _fewest(meets: Callable[[int], bool], impossible: Callable[[], bool], most: int) -> int | None:
    """Gallop, then bisect; the answer and the number below it were both asked for."""
    low, high = 0, 1
    while not meets(high):
        if high == most or impossible():
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if meets(middle):
            high = middle
        else:
            low = middle
    return high


def _probe(workers: dict[str, int], result: api.Result, wanted: float) -> Probe:
    figures: dict[str, Any] = {name: dict(result.summary)[name] for name in FIGURES}
    goodput = _share(figures["goodput_completed_requests"], figures["num_requests"])
    return Probe(workers=workers, goodput=goodput, meets_sla=goodput >= wanted, figures=figures)


def _share(part: Any, whole: Any) -> float:
    return part / whole if whole else 0.0


def _reason(best: Probe, impossible: bool, config: PlannerConfig) -> str:
    if impossible:
        rejected = best["figures"]["rejected_requests"]
        return (
            f"{rejected:,} requests can never fit on a worker, however many there are; "
            "give workers a larger cache or context, or ask for less goodput"
        )
    return (
        f"{config.max_workers:,} workers reach a goodput of {best['goodput']:.2%} instead of "
        f"{config.goodput:.2%}; allow more workers, or a looser SLA"
    )
