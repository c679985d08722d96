"""Every rule has a planted fault, a clean twin, and a section of the page of findings."""

from __future__ import annotations

import re

import pytest

from harness.pins import catalogue, rules
from tests.conftest import ROOT
from tests.harness.pins.trees import CASES, load_cases, report

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

PAGE = ROOT / "docs" / "findings.md"
CODES = [rule.CODE for rule in rules.modules()]
CASES_BY_CODE: dict[str, list[str]] = {}
for _case in load_cases(CASES):
    for _item in _case.expect:
        CASES_BY_CODE.setdefault(str(_item["code"]), []).append(_case.name)


def test_codes_are_unique_and_spelled_as_their_files() -> None:
    assert [name.replace("_", "-") for name in catalogue.NAMES] == CODES
    assert len(set(CODES)) == len(CODES)


def test_every_rule_file_is_registered() -> None:
    folder = ROOT / "scripts" / "harness" / "pins" / "rules"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "faults"}
    assert files == set(catalogue.NAMES)


@pytest.mark.parametrize("code", CODES)
def test_a_planted_fault_is_caught_by_this_rule_alone(code: str) -> None:
    """Without the rule the fault of its code is not found: no other rule reports for it."""
    rule = next(rule for rule in rules.modules() if code == rule.CODE)
    cases = [case for case in load_cases(CASES) if case.name in CASES_BY_CODE.get(code, [])]
    assert cases, f"no case plants {code}"
    for case in cases:
        assert code in {finding.code for finding in report(case.tree).findings}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rule, "check", lambda context: iter(()))
            assert code not in {finding.code for finding in report(case.tree).findings}


def test_clean_twins_have_no_finding_of_any_rule() -> None:
    twins = [case for case in load_cases(CASES) if case.clean]
    assert len(twins) >= 40
    for case in twins:
        assert [f for f in report(case.tree).findings if f.severity != "note"] == []


def test_every_code_has_a_section_and_every_section_a_code() -> None:
    sections = re.findall(r"^## `?([a-z0-9-]+)`?$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(sections) == sorted(CODES)
    assert sections == sorted(sections)


@pytest.mark.parametrize("code", CODES)
def test_examples_of_the_page_come_from_the_fixtures(code: str) -> None:
    page = PAGE.read_text("utf-8")
    section = page.split(f"\n## {code}\n", 1)[1].split("\n## ", 1)[0]
    bad = re.search(r"^Bad, from `([^`]+)` line (\d+):\n\n```\n(.*?)\n```$", section, re.M | re.S)
    good = re.search(r"^Good, from `([^`]+)`:\n\n```\n(.*?)\n```$", section, re.M | re.S)
    assert bad is not None
    assert good is not None
    name, _, file = bad[1].partition("/")
    case = next(case for case in load_cases(CASES) if case.name == name)
    assert any(
        (item["code"], item["file"], item["line"]) == (code, file, int(bad[2]))
        for item in case.expect
    )
    assert bad[3].strip() in _text(bad[1])
    assert good[2].strip() in _text(good[1])


def _text(place: str) -> str:
    name, _, file = place.partition("/")
    data = (CASES / name / "tree" / file).read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return data.decode(encoding).replace("\r\n", "\n")
