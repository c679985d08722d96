"""One smoke run: look at everything first, prepare the lanes, run the cases, write the evidence."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from harness.console import log, note, step
from harness.smoke.acceptance import Trace, compare_lanes, run_case
from harness.smoke.case import Case
from harness.smoke.containers import remove_containers
from harness.smoke.evidence import Evidence
from harness.smoke.lanes.host import Interpreter, end_running
from harness.smoke.lanes.image import ImageLane
from harness.smoke.lanes.lane import Lane
from harness.smoke.offline import Cut, listener
from harness.smoke.prepare import Prepared, WheelhouseUnderTest, prepare_image
from harness.smoke.prepare_host import offline_bench, prepare_host
from harness.smoke.result import Result, judged, not_run
from harness.smoke.scratch import scratch
from harness.wheels.audit import audit

NOT_PREPARED = "the lane could not be prepared"


# What a step found, and the steps that it makes possible.
_Step: TypeAlias = "tuple[list[Result], list[Callable[[], _Step]]]"


@dataclass(frozen=True)
class Plan:
    """Everything that a run needs, looked up and checked.

    `absent` says of a trace that is not there why its cases are not run; `interpreters` and
    `images` map lane names to what the lane runs on.
    """

    house: WheelhouseUnderTest
    cases: Sequence[Case]
    traces: dict[str, Trace]
    absent: dict[str, str]
    interpreters: dict[str, Interpreter]
    cut: Cut | None
    images: dict[str, ImageLane]
    evidence: Evidence
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)


def run(plan: Plan) -> list[Result]:
    """Run the plan and return every result; the evidence is written on the way."""
    plan.evidence.clear()
    revision = plan.house.manifest.revision
    step(f"Smoke of {plan.house.folder}, source {revision}")
    note(f"lanes: {', '.join([*plan.interpreters, *plan.images])}")
    if plan.cut is not None:
        note(f"network of the host lanes: cut by {plan.cut.how}")
    started = time.monotonic()
    collected: list[Result] = []
    with ExitStack() as stack:
        folder = stack.enter_context(scratch())
        port = stack.enter_context(listener())
        progress = stack.enter_context(
            Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TextColumn("{task.completed} done, {task.fields[failed]} failed"),
                TimeElapsedColumn(),
                console=log,
                transient=True,
            )
        )
        task = progress.add_task("smoke", total=None, failed=0)

        def collect(results: Sequence[Result]) -> None:
            for result in results:
                plan.evidence.write(result)
                collected.append(result)
                if not log.is_terminal:
                    note(f"{result.lane}: {result.case}: {result.verdict}")
            failed = sum(result.verdict == "failed" for result in collected)
            progress.update(task, completed=len(collected), failed=failed)

        collect([_audit(plan.house)])
        _run_lanes(plan, folder, port, collect)
        if len(plan.interpreters) + len(plan.images) > 1:
            collect(compare_lanes(plan.cases, collected))
    results = _in_order(plan, collected)
    plan.evidence.finish(results, time.monotonic() - started)
    return results


def _audit(house: WheelhouseUnderTest) -> Result:
    title = "harness wheels audit finds no error"
    findings = audit(house.folder).findings
    problems = [
        f"{f.code}: {f.file}: {f.member or ''} {f.message}; found {f.found}"
        for f in findings
        if f.severity == "error"
    ]
    return judged("wheelhouse", "audit", title, problems)


def _run_lanes(
    plan: Plan, folder: Path, port: int, collect: Callable[[Sequence[Result]], None]
) -> None:
    """Prepare all lanes and run all cases, as many at a time as there are cores."""
    pending: set[Future[_Step]] = set()
    pool = ThreadPoolExecutor(plan.workers)
    try:
        for step in _preparations(plan, folder, port):
            pending.add(pool.submit(step))
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                results, following = future.result()
                collect(results)
                pending |= {pool.submit(step) for step in following}
    except BaseException:
        # Interrupted, or broken: nothing may go on behind the user's back.
        pool.shutdown(wait=False, cancel_futures=True)
        end_running()
        for lane in plan.images.values():
            remove_containers(lane.client, of_this_process=True)
        raise
    finally:
        pool.shutdown()


def _preparations(plan: Plan, folder: Path, port: int) -> list[Callable[[], _Step]]:
    jobs: dict[str, Callable[[], Prepared]] = {}
    for name, interpreter in plan.interpreters.items():
        assert plan.cut is not None
        bench = offline_bench(name, interpreter, folder / name, plan.house, plan.cut)
        jobs[name] = partial(prepare_host, bench, port)
    for name, lane in plan.images.items():
        jobs[name] = partial(prepare_image, lane, plan.house, port)
    return [partial(_prepare, plan, name, job) for name, job in jobs.items()]


def _prepare(plan: Plan, name: str, job: Callable[[], Prepared]) -> _Step:
    """Prepare a lane: its checks, and its cases to follow."""
    prepared = job()
    results = list(prepared.results)
    following: list[Callable[[], _Step]] = []
    for case in plan.cases:
        reason = plan.absent.get(case.trace or "")
        if prepared.lane is None or reason:
            reason = reason or NOT_PREPARED
            results.append(not_run(name, case.name, case.title, reason, is_case=True))
        else:
            trace = plan.traces[case.trace] if case.trace else None
            following.append(partial(_case, case, prepared.lane, trace))
    return results, following


def _case(case: Case, lane: Lane, trace: Trace | None) -> _Step:
    return [run_case(case, lane, trace)], []


def _in_order(plan: Plan, results: Sequence[Result]) -> list[Result]:
    """Sort by lane, checks before cases: two runs give the same table."""
    lanes = ["wheelhouse", *plan.interpreters, *plan.images, "agreement"]
    order = {name: number for number, name in enumerate(lanes)}
    # The sort is stable: checks keep the order in which the lane gave them.
    return sorted(results, key=lambda r: (order[r.lane], r.is_case, r.case if r.is_case else ""))
