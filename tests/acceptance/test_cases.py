"""The cases themselves: sound, worth something, and red when their key fact is broken."""

from __future__ import annotations

import pytest

from harness.smoke.acceptance import Trace, execute
from harness.smoke.case import Case, shipped_cases
from harness.smoke.expect import problems
from harness.smoke.lanes.host import HostLane
from harness.smoke.public_traces import PUBLIC
from tests.acceptance.tamper import broken

CASES = shipped_cases()
NAMES = [case.name for case in CASES]


@pytest.mark.pre_merge
@pytest.mark.unit
@pytest.mark.gpu_0
def test_cases_are_shipped() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 48


@pytest.mark.pre_merge
@pytest.mark.unit
@pytest.mark.gpu_0
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_case_checks_more_than_exit_codes(case: Case) -> None:
    subjects = {expectation.that.rpartition(":")[2].split(".")[0] for expectation in case.expect}
    assert subjects - {"exit-code"}


@pytest.mark.pre_merge
@pytest.mark.integration
@pytest.mark.gpu_0
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_case_passes_and_each_expectation_can_fail(
    case: Case, host_lane: HostLane, traces: dict[str, Trace]
) -> None:
    if case.trace in PUBLIC.keys() - traces.keys():
        pytest.skip(f"the public trace {case.trace} is not there")
    trace = traces[case.trace] if case.trace else None
    facts = trace.facts if trace else {}
    ran = execute(case, host_lane, trace)
    assert problems(case.expect, ran.outcomes, ran.places, facts) == []
    for expectation in case.expect:
        outcomes = broken(expectation, ran.outcomes)
        found = problems([expectation], outcomes, ran.places, facts)
        assert len(found) == 1, f"nobody notices a broken {expectation.that}"
        assert found[0].startswith(f"{expectation.that}: expected {expectation.operator}")
