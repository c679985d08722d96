"""A dependency that inherits from the workspace and contradicts it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context
from harness.pins.rules.faults import faults_of

CODE = "invalid-dependency"
SUMMARY = "a dependency mixes workspace = true with its own source"


def check(context: Context) -> Iterator[Finding]:
    """Yield what the readers met."""
    return faults_of(context, CODE)
