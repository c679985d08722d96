"""How an expectation compares: each operator is a small function that says whether it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def equal(found: Any, operand: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    return isinstance(found, bool) == isinstance(operand, bool) and bool(found == operand)


def near(found: Any, operand: Any) -> bool:
    """Whether a number is within a relative tolerance: [value, tolerance]."""
    value, tolerance = operand
    return math.isclose(found, value, rel_tol=tolerance, abs_tol=tolerance)


def contains(found: Any, operand: Any) -> bool:
    """Whether a text or list holds the operand, or each of its items where it is a list."""
    return all(item in found for item in (operand if isinstance(operand, list) else [operand]))


def lacks(found: Any, operand: Any) -> bool:
    """Whether a text or list holds none of the operand's items."""
    return not any(item in found for item in (operand if isinstance(operand, list) else [operand]))


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "is": equal,
    "is-not": lambda found, operand: not equal(found, operand),
    "at-least": lambda found, operand: bool(found >= operand),
    "at-most": lambda found, operand: bool(found <= operand),
    "near": near,
    "contains": contains,
    "lacks": lacks,
}
