"""Breaks outcomes: for an expectation that holds, an outcome in which its key fact is broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.smoke.case import Expectation
from harness.smoke.outcome import Outcome
from harness.smoke.subjects import ROWS


def broken(expectation: Expectation, outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the outcomes with the expectation's own subject changed, and nothing else."""
    run, colon, subject = expectation.that.rpartition(":")
    name = run if colon else next(iter(outcomes))
    root, _, path = subject.partition(".")
    return {**outcomes, name: BREAKERS[root](outcomes[name], path, expectation)}


def _exit_code(outcome: Outcome, _: str, __: Expectation) -> Outcome:
    return replace(outcome, exit_code=outcome.exit_code + 1)


def _stdout(outcome: Outcome, _: str, expectation: Expectation) -> Outcome:
    return replace(outcome, stdout=_text(outcome.stdout, expectation))


def _stderr(outcome: Outcome, _: str, expectation: Expectation) -> Outcome:
    return replace(outcome, stderr=_text(outcome.stderr, expectation))


def _text(data: bytes, expectation: Expectation) -> bytes:
    operand = expectation.operand
    if expectation.operator == "lacks":
        words = operand if isinstance(operand, list) else [operand]
        return data + str(words[-1]).encode()
    return b"" if expectation.operator == "contains" else data + b" "


def _report(outcome: Outcome, path: str, expectation: Expectation) -> Outcome:
    document = json.loads(outcome.stdout)
    *steps, last = path.split(".")
    inner: Any = document
    for step in steps:
        inner = inner[int(step)] if isinstance(inner, list) else inner[step]
    key: Any = int(last) if isinstance(inner, list) else last
    inner[key] = _changed(inner[key], expectation.operator)
    return replace(outcome, stdout=json.dumps(document).encode())


def _changed(value: Any, operator: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return type(value)() if isinstance(value, (str, list)) else None
    return -1e12 if operator == "at-least" else value + 1e12


def _files(outcome: Outcome, _: str, __: Expectation) -> Outcome:
    return replace(outcome, files={**outcome.files, "report.json.part": b"{"})


def _rows(outcome: Outcome, path: str, _: Expectation) -> Outcome:
    rows = [json.loads(line) for line in outcome.files[ROWS].splitlines()]
    kind, field = f"{path}.".split(".")[:2]
    if kind == "count":
        rows = rows[:-1]
    else:
        rows[-1][field] = rows[-1][field] + 1 if kind == "sum" else "tampered"
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return replace(outcome, files={**outcome.files, ROWS: data})


BREAKERS = {
    "exit-code": _exit_code,
    "stdout": _stdout,
    "stderr": _stderr,
    "report": _report,
    "files": _files,
    "rows": _rows,
}
