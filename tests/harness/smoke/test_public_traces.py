"""Public traces: taken where they lie, refused where they are others, and else named as absent."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.smoke import public_traces
from harness.smoke.case import shipped_cases
from harness.smoke.evidence import Evidence
from harness.smoke.prepare import Prepared, WheelhouseUnderTest
from harness.smoke.public_traces import PUBLIC, PublicTrace, absence, find_public
from harness.smoke.runner import Plan, _prepare
from tests.harness.smoke.programs import SOUND, program_lane

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

TEXT = b'{"input_length": 1, "output_length": 1}\n'


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = PublicTrace("t.jsonl", hashlib.sha256(TEXT).hexdigest(), "somewhere public")
    monkeypatch.setitem(public_traces.PUBLIC, "known", trace)


@pytest.mark.usefixtures("known")
def test_there_absent_or_another(tmp_path: Path) -> None:
    assert find_public("known", tmp_path) is None
    said = absence("known", tmp_path)
    assert f"no t.jsonl in {tmp_path} (somewhere public)" in said
    assert "--traces" in said
    path = tmp_path / "t.jsonl"
    path.write_bytes(TEXT)
    assert find_public("known", tmp_path) == path
    path.write_bytes(TEXT * 2)
    with pytest.raises(InputError, match="not the published file: expected sha256") as caught:
        find_public("known", tmp_path)
    assert (caught.value.where, caught.value.fix) == (str(path), "fetch it again: somewhere public")


def test_every_public_trace_has_cases() -> None:
    assert PUBLIC.keys() <= {case.trace for case in shipped_cases()}


def test_cases_of_an_absent_trace_are_not_run(tmp_path: Path) -> None:
    cases = [case for case in shipped_cases() if case.trace in (None, "code")]
    house = WheelhouseUnderTest.__new__(WheelhouseUnderTest)
    evidence = Evidence.__new__(Evidence)
    plan = Plan(house, cases, {}, {"code": "not there"}, {}, None, {}, evidence)
    lane = program_lane(tmp_path, SOUND)
    results, following = _prepare(plan, "host", lambda: Prepared(lane, []))
    absent = {case.name for case in cases if case.trace == "code"}
    assert {(result.case, result.verdict, result.reason) for result in results} == {
        (name, "not-run", "not there") for name in absent
    }
    assert len(following) == len(cases) - len(absent) > 0
