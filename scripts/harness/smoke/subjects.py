"""What an expectation can speak about: `[RUN:]SUBJECT` to a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from harness.smoke.outcome import Outcome

ROWS = "requests.jsonl"
# Texts keep bytes that are no UTF-8, so that digests of texts are digests of bytes.


class MissingError(Exception):
    """The outcome has no such value."""


def value_of(subject: str, outcomes: Mapping[str, Outcome]) -> Any:
    """Return the value that a subject names; raises MissingError where there is none."""
    run, colon, rest = subject.rpartition(":")
    if not colon:
        if len(outcomes) != 1:
            raise MissingError(f"{subject}: which of the runs {', '.join(outcomes)}?")
        run = next(iter(outcomes))
    if run not in outcomes:
        raise MissingError(f"{subject}: there is no run {run!r}")
    root, _, path = rest.partition(".")
    if root not in ROOTS:
        raise MissingError(f"{subject}: expected one of {', '.join(ROOTS)}")
    return ROOTS[root](outcomes[run], path)


def _report(outcome: Outcome, path: str) -> Any:
    """The JSON document on standard output; `report.a.0.b` walks into it."""
    try:
        value = json.loads(outcome.stdout)
    except ValueError as error:
        raise MissingError(f"standard output is no JSON document: {error}") from error
    for step in filter(None, path.split(".")):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (LookupError, TypeError, ValueError) as error:
            raise MissingError(f"the report has no {path}") from error
    return value


def _file(outcome: Outcome, path: str) -> str:
    """The text of a file that the run wrote under {out}."""
    if path not in outcome.files:
        raise MissingError(f"the run wrote no {path}, only {sorted(outcome.files) or 'nothing'}")
    return outcome.files[path].decode("utf-8", "surrogateescape")


def _rows(outcome: Outcome, path: str) -> Any:
    """The rows of {out}/requests.jsonl: `rows.count`, `rows.sum.FIELD`, `rows.all.FIELD`."""
    rows = [json.loads(line) for line in _file(outcome, ROWS).splitlines()]
    kind, _, field = path.partition(".")
    if kind == "count":
        return len(rows)
    try:
        values = [row[field] for row in rows]
    except (LookupError, TypeError) as error:
        raise MissingError(f"a row has no {field}") from error
    if kind == "sum":
        return sum(values)
    if kind == "all":
        return sorted({json.dumps(value) for value in values})
    raise MissingError(f"rows.{path}: expected rows.count, rows.sum.FIELD or rows.all.FIELD")


ROOTS: dict[str, Callable[[Outcome, str], Any]] = {
    "exit-code": lambda outcome, _: outcome.exit_code,
    "stdout": lambda outcome, _: outcome.stdout.decode("utf-8", "surrogateescape"),
    "stderr": lambda outcome, _: outcome.stderr.decode("utf-8", "surrogateescape"),
    "report": _report,
    "file": _file,
    "files": lambda outcome, _: sorted(outcome.files),
    "rows": _rows,
}
