"""An environment that turns the lock check off."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.tokens import Override

CODE = "frozen-lock"
SUMMARY = "a setting turns off the check that a lock is fresh"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every such setting."""
    for document, fact in context.repository.facts(Override):
        if fact.what == "frozen-lock":
            yield finding(
                CODE,
                "warning",
                document,
                fact.at.span,
                fact.message,
                fix="use --locked (UV_LOCKED=1) instead",
            )
