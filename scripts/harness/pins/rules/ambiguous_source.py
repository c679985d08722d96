"""A git dependency with more than one of rev, branch and tag."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context
from harness.pins.rules.faults import faults_of

CODE = "ambiguous-source"
SUMMARY = "a git dependency has two references"


def check(context: Context) -> Iterator[Finding]:
    """Yield what the readers met."""
    return faults_of(context, CODE)
