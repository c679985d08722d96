"""Evidence files: complete, whole, and never mixed with those of another run."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.errors import InputError
from harness.smoke.evidence import Evidence
from harness.smoke.outcome import Outcome
from harness.smoke.result import Result, judged, not_run
from tests.harness.smoke.facts_factory import image, sound_facts

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

OUTCOME = Outcome(("replay-sim", "run", "a b"), 2, b"out", b"\x1b[31merr\xff", 1.25, {"r": b"x"})
PASSED = judged(
    "replay-sim:cpu", "good", "A good case", [], (OUTCOME,), {"stdout": "0"}, is_case=True
)
FAILED = judged("replay-sim:cpu", "bad case", "A bad case", ["x\x1b: no", "more"], is_case=True)
SKIPPED = not_run("host-3.11", "gpu-device", "A device", "no driver")
RESULTS: list[Result] = [PASSED, FAILED, SKIPPED]


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    house = tmp_path / "house"
    house.mkdir()
    return Evidence(
        folder=tmp_path / "evidence",
        manifest=sound_facts(house, "cpu").manifest,
        images={"replay-sim:cpu": image()},
        repeats={"replay-sim:cpu": "harness smoke --image x", "host-3.11": "harness smoke --host"},
    )


def test_one_file_a_result(evidence: Evidence) -> None:
    evidence.clear()
    for result in RESULTS:
        evidence.write(result)
    path = evidence.folder / "replay-sim-cpu" / "good.json"
    data = json.loads(path.read_text("utf-8"))
    assert data["verdict"] == "passed"
    assert data["image"] == {"name": "replay-sim:cpu", "id": "sha256:0", "size": 1}
    assert data["source"]["revision"] == "a" * 40
    assert len(data["wheels"]) == 3
    assert data["repeat"] == "harness smoke --image x --case good"
    (run,) = data["runs"]
    assert run["command"] == "replay-sim run 'a b'"
    assert (run["exit_code"], run["seconds"]) == (2, 1.25)
    failed = json.loads((evidence.folder / "replay-sim-cpu" / "bad-case.json").read_text("utf-8"))
    assert failed["problems"] == ["x\x1b: no", "more"]
    skipped = json.loads((evidence.folder / "host-3.11" / "gpu-device.json").read_text("utf-8"))
    assert (skipped["verdict"], skipped["reason"]) == ("not-run", "no driver")
    assert skipped["repeat"] == "harness smoke --host", "checks come with their lane"


def test_summary_comes_last_and_counts(evidence: Evidence) -> None:
    evidence.clear()
    assert not (evidence.folder / "summary.json").exists()
    evidence.finish(RESULTS, 3.0)
    summary = json.loads((evidence.folder / "summary.json").read_text("utf-8"))
    assert (summary["passed"], summary["failed"], summary["not-run"]) == (1, 1, 1)
    assert [r["case"] for r in summary["results"]] == ["good", "bad case", "gpu-device"]


def test_junit(evidence: Evidence) -> None:
    evidence.clear()
    evidence.finish(RESULTS, 3.0)
    root = ElementTree.parse(evidence.folder / "junit.xml").getroot()
    suite = root.find("testsuite[@name='replay-sim:cpu']")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    failure = suite.find("testcase[@name='bad case']/failure")
    assert failure is not None
    assert failure.text == "x�: no\nmore"
    assert root.find("testsuite/testcase[@name='gpu-device']/skipped") is not None


def test_earlier_evidence_goes(evidence: Evidence) -> None:
    evidence.clear()
    evidence.write(PASSED)
    evidence.finish([PASSED], 1.0)
    evidence.clear()
    assert sorted(path.name for path in evidence.folder.iterdir()) == ["CACHEDIR.TAG"]


def test_a_folder_with_something_else_is_kept(evidence: Evidence) -> None:
    evidence.folder.mkdir()
    precious = evidence.folder / "thesis.tex"
    precious.write_text("…", "utf-8")
    with pytest.raises(InputError, match="something else than evidence"):
        evidence.clear()
    assert precious.exists()
