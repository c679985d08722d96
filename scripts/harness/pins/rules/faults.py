"""Findings that readers meet while they parse: the rules of one code each share this."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context


def faults_of(context: Context, code: str) -> Iterator[Finding]:
    """Yield the faults of a code."""
    for reading in context.repository.readings:
        for fault in reading.faults:
            if fault.code == code:
                yield finding(
                    code,
                    fault.severity,
                    reading.document,
                    fault.at,
                    fault.message,
                    fix=fault.fix or "correct the line",
                )
