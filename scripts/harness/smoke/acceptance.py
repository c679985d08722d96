"""Running one acceptance case in one lane, and comparing the lanes afterwards."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.smoke import trace_facts
from harness.smoke.case import Case
from harness.smoke.expect import problems
from harness.smoke.lanes.lane import Lane, workspace
from harness.smoke.outcome import Outcome
from harness.smoke.result import Result, judged, not_run
from harness.smoke.subjects import MissingError, value_of

AGREEMENT = "agreement"


@dataclass(frozen=True)
class Trace:
    """A trace file and what the harness counted in it."""

    path: Path
    facts: Mapping[str, int]

    @property
    def format(self) -> str:
        """The name that `replay-sim run --trace-format` has for it."""
        return trace_facts.format_of(self.path)


@dataclass(frozen=True)
class Ran:
    """What the runs of a case left behind, and where they saw their files."""

    outcomes: dict[str, Outcome]
    places: dict[str, str]


def execute(case: Case, lane: Lane, trace: Trace | None) -> Ran:
    """Run a case in a lane, without judging it."""
    outcomes: dict[str, Outcome] = {}
    with workspace(case.files, trace.path if trace else None) as work:
        places = lane.places(work)
        if trace:
            places["trace_format"] = trace.format
        for run in case.runs:
            args = [_placed(word, places) for word in run.args]
            outcomes[run.name] = lane.run(run.program, args, work=work, timeout=case.timeout)
    return Ran(outcomes, places)


def run_case(case: Case, lane: Lane, trace: Trace | None) -> Result:
    """Run a case in a lane and hold it against its expectations."""
    ran = execute(case, lane, trace)
    found = problems(case.expect, ran.outcomes, ran.places, trace.facts if trace else {})
    digests = {}
    for subject in case.agree:
        try:
            digests[subject] = hashlib.sha256(_bytes(value_of(subject, ran.outcomes))).hexdigest()
        except MissingError as error:
            found.append(str(error))
    runs = tuple(ran.outcomes.values())
    return judged(lane.name, case.name, case.title, found, runs, digests, is_case=True)


def compare_lanes(cases: Iterable[Case], results: Iterable[Result]) -> list[Result]:
    """Return, for each case whose lanes must agree, whether they do."""
    by_case: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.digests and result.verdict == "passed":
            by_case[result.case].append(result)
    return [_compare(case, by_case[case.name]) for case in cases if case.agree]


def _compare(case: Case, results: list[Result]) -> Result:
    if len(results) < 2:
        ran = ", ".join(result.lane for result in results) or "none"
        reason = f"fewer than two lanes passed it: {ran}"
        return not_run(AGREEMENT, case.name, case.title, reason, is_case=True)
    found = []
    for subject in case.agree:
        lanes: dict[str, list[str]] = defaultdict(list)
        for result in results:
            lanes[result.digests.get(subject, "nothing")].append(result.lane)
        if len(lanes) > 1:
            groups = "; ".join(f"{', '.join(names)}: {d}" for d, names in lanes.items())
            found.append(f"{subject} differs between the lanes: {groups}")
    return judged(AGREEMENT, case.name, case.title, found, is_case=True)


def _placed(word: str, places: Mapping[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(f"{{{name}}}", path)
    return word


def _bytes(value: object) -> bytes:
    return (
        value.encode("utf-8", "surrogateescape") if isinstance(value, str) else repr(value).encode()
    )
