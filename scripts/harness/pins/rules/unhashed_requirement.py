"""A requirement without hashes in a file where others have them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context
from harness.pins.rules.faults import faults_of

CODE = "unhashed-requirement"
SUMMARY = "one requirement of a hash-locked file has no hash"


def check(context: Context) -> Iterator[Finding]:
    """Yield what the readers met."""
    return faults_of(context, CODE)
