"""A hash that belongs to no requirement."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context
from harness.pins.rules.faults import faults_of

CODE = "detached-hash"
SUMMARY = "a --hash stands on a line of its own: pip ignores or refuses it"


def check(context: Context) -> Iterator[Finding]:
    """Yield what the readers met."""
    return faults_of(context, CODE)
