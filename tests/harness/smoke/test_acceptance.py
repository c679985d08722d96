"""Running cases in a lane, and comparing lanes: on small real programs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.smoke.acceptance import Trace, compare_lanes, run_case
from harness.smoke.case import Case, read_case
from harness.smoke.trace_facts import count
from tests.harness.smoke.programs import SOUND, program_lane

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

CASE = """
title = "A case"
trace = "sample"
timeout = 20
agree = ["stdout"]
[[run]]
args = ["run", "{trace}", "--report", "{out}/report.json"]
[[expect]]
that = "exit-code"
is = 0
because = "it runs"
[[expect]]
that = "report.summary.num_requests"
is = { trace = "requests" }
because = "counted"
[[expect]]
that = "files"
is = []
because = "nothing half-written"
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    (tmp_path / "case.toml").write_text(CASE, "utf-8")
    return read_case(tmp_path / "case.toml")[0]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    path = tmp_path / "t.jsonl"
    path.write_text('{"input_length": 3, "output_length": 1}\n' * 5, "utf-8")
    return Trace(path, count(path))


def test_sound(tmp_path: Path, case: Case, trace: Trace) -> None:
    result = run_case(case, program_lane(tmp_path, SOUND), trace)
    assert (result.verdict, result.problems) == ("passed", ())
    assert set(result.digests) == {"stdout"}
    assert str(trace.path) in result.outcomes[0].command_line


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(3)", "exit-code: expected is 0, found 3"),
        ("print('{')", "no JSON document"),
        (
            "print(json.dumps(replay(open(args[1]).readlines()[:-1])))",
            "num_requests: expected is 5, found 4",
        ),
        (
            f"{SOUND}; Path(option('--report') + '.tmp').touch()",
            "files: expected is [], found ['report.json.tmp']",
        ),
    ],
    ids=["exit code", "half a report", "a trace line dropped", "a file left behind"],
)
def test_planted(tmp_path: Path, case: Case, trace: Trace, body: str, words: str) -> None:
    result = run_case(case, program_lane(tmp_path, body), trace)
    assert result.verdict == "failed"
    assert any(words in problem for problem in result.problems), result.problems


def test_time_out_ends_the_program_and_its_children(tmp_path: Path, case: Case) -> None:
    body = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    hasty = Case(**{**case.__dict__, "timeout": 2.0, "trace": None, "runs": case.runs})
    result = run_case(hasty, program_lane(tmp_path, body), None)
    (outcome,) = result.outcomes
    assert outcome.timed_out
    assert any("no end within its time" in problem for problem in result.problems)
    child = Path("/proc", outcome.stdout.decode().strip())
    for _ in range(100):
        # A child that nobody waits for stays as a zombie until init has collected it.
        if not child.exists() or "\nState:\tZ" in (child / "status").read_text("utf-8"):
            return
        time.sleep(0.05)
    raise AssertionError("the child outlived its run")


def test_environment_of_the_caller_does_not_leak(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/checkout")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    body = "import os; print(json.dumps(sorted(os.environ)))"
    result = run_case(case, program_lane(tmp_path, body), None)
    names = result.outcomes[0].stdout.decode()
    assert "PATH" in names
    assert "PYTHONPATH" not in names
    assert "PROXY" not in names


def test_lanes_agree_or_not(tmp_path: Path, case: Case, trace: Trace) -> None:
    one = run_case(case, program_lane(tmp_path, SOUND, "one"), trace)
    two = run_case(case, program_lane(tmp_path, SOUND, "two"), trace)
    other = run_case(case, program_lane(tmp_path, SOUND + "; print()", "other"), trace)
    assert (one.verdict, two.verdict, other.verdict) == ("passed",) * 3

    (same,) = compare_lanes([case], [one, two])
    assert (same.lane, same.verdict) == ("agreement", "passed")
    (differs,) = compare_lanes([case], [one, two, other])
    assert differs.verdict == "failed"
    assert "one, two: " in differs.problems[0]
    (alone,) = compare_lanes([case], [one])
    assert alone.verdict == "not-run"


def test_failed_lanes_agree_on_nothing(tmp_path: Path, case: Case, trace: Trace) -> None:
    results = [
        run_case(case, program_lane(tmp_path, "sys.exit(1)", name), trace) for name in ("a", "b")
    ]
    (compared,) = compare_lanes([case], results)
    assert compared.verdict == "not-run"
