"""An empty line inside a continued Dockerfile instruction."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context
from harness.pins.rules.faults import faults_of

CODE = "empty-continuation"
SUMMARY = "an empty line inside a continued instruction"


def check(context: Context) -> Iterator[Finding]:
    """Yield what the readers met."""
    return faults_of(context, CODE)
