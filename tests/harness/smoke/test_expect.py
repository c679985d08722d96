"""Subjects, operators and operands: what holds, what does not, and what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from harness.smoke.case import Expectation
from harness.smoke.expect import problems
from harness.smoke.operators import OPERATORS
from harness.smoke.outcome import Outcome
from harness.smoke.subjects import MissingError, value_of

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

ROWS = b'{"n": 2, "status": "done"}\n{"n": 3, "status": "done"}\n'
OUTCOME = Outcome(
    command=("replay-sim",),
    exit_code=2,
    stdout=b'{"a": {"b": [1, 2.5]}, "yes": true}',
    stderr=b"error: /in/bad.jsonl:3: broken",
    seconds=0.5,
    files={"requests.jsonl": ROWS, "r.json": b"{}"},
)


def check(that: str, operator: str, operand: Any) -> list[str]:
    expectation = Expectation(that, operator, operand, "by hand")
    places, trace = {"inputs": "/in"}, {"requests": 2}
    return problems([expectation], {"run": OUTCOME}, places, trace)


@pytest.mark.parametrize(
    ("subject", "value"),
    [
        ("exit-code", 2),
        ("run:exit-code", 2),
        ("stderr", "error: /in/bad.jsonl:3: broken"),
        ("report.a.b.1", 2.5),
        ("report.yes", True),
        ("file.r.json", "{}"),
        ("files", ["r.json", "requests.jsonl"]),
        ("rows.count", 2),
        ("rows.sum.n", 5),
        ("rows.all.status", ['"done"']),
    ],
)
def test_subject(subject: str, value: object) -> None:
    assert value_of(subject, {"run": OUTCOME}) == value


@pytest.mark.parametrize(
    "subject",
    [
        "report.a.c",
        "report.a.b.2",
        "report.a.b.x",
        "report.yes.no",
        "file.absent",
        "rows.sum.absent",
        "rows.odd",
        "other:exit-code",
        "exit",
    ],
)
def test_missing_subject(subject: str) -> None:
    with pytest.raises(MissingError):
        value_of(subject, {"run": OUTCOME})
    assert check(subject, "is-not", 12345), "what is not there never passes"


def test_two_runs_need_a_name() -> None:
    outcomes = {"one": OUTCOME, "two": OUTCOME}
    assert value_of("two:exit-code", outcomes) == 2
    with pytest.raises(MissingError, match="which of the runs one, two"):
        value_of("exit-code", outcomes)


HOLDS = {
    "is": ("exit-code", 2, 1),
    "is-not": ("exit-code", 0, 2),
    "at-least": ("exit-code", 2, 3),
    "at-most": ("exit-code", 2, 1),
    "near": ("report.a.b.1", [2.5001, 1e-3], [2.6, 1e-3]),
    "contains": ("stderr", ["error", "{inputs}/bad.jsonl:3"], ["error", "{inputs}/bad.jsonl:4"]),
    "lacks": ("stderr", ["Traceback"], ["Traceback", "broken"]),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_holds_and_fails(operator: str) -> None:
    subject, good, bad = HOLDS[operator]
    assert check(subject, operator, good) == []
    (problem,) = check(subject, operator, bad)
    assert problem.startswith(f"{subject}: expected {operator} ")
    assert problem.endswith("(by hand)")


def test_true_is_not_one() -> None:
    assert check("report.yes", "is", True) == []
    assert check("report.yes", "is", 1) != []


def test_operands() -> None:
    assert check("rows.count", "is", {"trace": "requests"}) == []
    assert check("rows.count", "is", {"of": "exit-code"}) == []
    assert check("rows.sum.n", "is", {"trace": "requests"}) != []
    assert check("rows.sum.n", "is", {"of": "exit-code"}) != []
    assert check("rows.count", "is", {"trace": "absent"}) != []
    assert check("rows.count", "is", {"other": "exit-code"}) != []


def test_not_comparable_is_a_problem() -> None:
    (problem,) = check("stderr", "at-least", 3)
    assert "can't be compared" in problem


def test_time_out_is_a_problem() -> None:
    late = Outcome(("replay-sim", "run"), 124, b"", b"", 60.0, timed_out=True)
    expectation = Expectation("exit-code", "is", 124, "by hand")
    assert problems([expectation], {"run": late}, {}, {}) == [
        "replay-sim run: no end within its time"
    ]
