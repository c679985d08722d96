"""Holding the outcomes of a case against its expectations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.smoke.case import Expectation
from harness.smoke.operators import OPERATORS
from harness.smoke.outcome import Outcome
from harness.smoke.subjects import MissingError, value_of

SHOWN = 300


def problems(
    expectations: Iterable[Expectation],
    outcomes: Mapping[str, Outcome],
    places: Mapping[str, str],
    trace: Mapping[str, int],
) -> list[str]:
    """Return one line for each expectation that does not hold.

    Args:
        expectations: What must hold.
        outcomes: Run name to outcome.
        places: Placeholder to path, as the lane under test sees it.
        trace: What the harness counted itself in the trace.
    """
    found = [f"{o.command_line}: no end within its time" for o in outcomes.values() if o.timed_out]
    for expectation in expectations:
        problem = _problem(expectation, outcomes, places, trace)
        if problem:
            found.append(problem)
    return found


def _problem(
    expectation: Expectation,
    outcomes: Mapping[str, Outcome],
    places: Mapping[str, str],
    trace: Mapping[str, int],
) -> str | None:
    try:
        value = value_of(expectation.that, outcomes)
        operand = _operand(expectation.operand, outcomes, places, trace)
        holds = OPERATORS[expectation.operator](value, operand)
    except MissingError as error:
        return f"{expectation.that}: {error} ({expectation.because})"
    except (TypeError, ValueError) as error:
        return f"{expectation.that}: can't be compared: {error} ({expectation.because})"
    if holds:
        return None
    return (
        f"{expectation.that}: expected {expectation.operator} {_shown(operand)}, "
        f"found {_shown(value)} ({expectation.because})"
    )


def _operand(
    operand: Any,
    outcomes: Mapping[str, Outcome],
    places: Mapping[str, str],
    trace: Mapping[str, int],
) -> Any:
    """Resolve {of = subject}, {trace = fact} and the placeholders in texts."""
    if isinstance(operand, list):
        return [_operand(item, outcomes, places, trace) for item in operand]
    if isinstance(operand, str):
        for name, path in places.items():
            operand = operand.replace(f"{{{name}}}", path)
        return operand
    if isinstance(operand, dict):
        match operand:
            case {"of": str(subject)} if len(operand) == 1:
                return value_of(subject, outcomes)
            case {"trace": str(fact)} if len(operand) == 1:
                if fact not in trace:
                    raise MissingError(f"the harness counts no {fact!r} in this trace")
                return trace[fact]
        raise MissingError(f"{operand}: expected {{of = …}} or {{trace = …}}")
    return operand


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
