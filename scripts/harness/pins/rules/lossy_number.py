"""A YAML number where a version is meant: 3.10 is read as 3.1."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.tokens import LossyNumber

CODE = "lossy-number"
SUMMARY = "a version is a YAML number that loses its zero"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every number that a version claim was read from."""
    versions = {
        (j.document.path, j.at.span)
        for j in context.judgements
        if j.pin is not None or j.claim.kind in ("toolchain", "distribution")
    }
    for document, fact in context.repository.facts(LossyNumber):
        if (document.path, fact.at.span) in versions:
            yield finding(
                CODE,
                "error",
                document,
                fact.at.span,
                f"YAML reads {fact.at.text} as the number {fact.becomes}",
                expected=f'"{fact.at.text}"',
                found=fact.becomes,
                fix="put the version in quotes",
            )
