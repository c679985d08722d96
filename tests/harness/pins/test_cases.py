"""Every fixture folder gets its verdict; the folder name says what it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.harness.pins.trees import CASES, Case, load_cases, report

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

OWN = load_cases(CASES)
# Cases that are kept beside the checkout, where that is so; each kind has one of our own as well.
SHARED = load_cases(ROOT.parent / "shared" / "cases" / "pins")


@pytest.mark.parametrize("case", OWN, ids=lambda case: case.name)
def test_own(case: Case) -> None:
    found = {
        (finding.severity, finding.code, finding.file, finding.line)
        for finding in report(case.tree).findings
        if finding.severity != "note"
    }
    wanted = {(item["severity"], item["code"], item["file"], item["line"]) for item in case.expect}
    assert found == wanted
    assert case.clean is not bool(wanted)


def check_shared(case: Case) -> None:
    """A weaker contract: what is named must be found, and no error in another file."""
    result = report(case.tree)
    if case.clean:
        assert result.clean, result.findings
        return
    for item in case.expect:
        assert any(
            (finding.severity, finding.file) == (item["severity"], item["file"])
            and item["line"] in (None, finding.line)
            for finding in result.findings
        ), item
    expected = {item["file"] for item in case.expect}
    errors = {finding.file for finding in result.findings if finding.severity == "error"}
    assert errors <= expected


if SHARED:

    @pytest.mark.parametrize("case", SHARED, ids=lambda case: case.name)
    def test_shared(case: Case) -> None:
        check_shared(case)


def test_own_cases_meet_the_weaker_contract_too() -> None:
    for case in OWN:
        check_shared(case)


def test_there_are_faults_and_clean_twins() -> None:
    assert sum(case.clean for case in OWN) >= 40
    assert sum(not case.clean for case in OWN) >= 80


def test_findings_name_files_with_forward_slashes_and_lines_from_one() -> None:
    for case in OWN:
        for finding in report(case.tree).findings:
            assert (case.tree / Path(finding.file)).is_file()
            assert "\\" not in finding.file
            assert finding.line >= 1
            assert finding.column >= 1
