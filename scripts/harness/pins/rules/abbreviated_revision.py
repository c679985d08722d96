"""A revision that is cut short: it can become ambiguous, and no tool compares it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context, off_pin

CODE = "abbreviated-revision"
SUMMARY = "a revision is not the full commit id"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every short id of a dependency or a pinned thing."""
    for judgement in context.judgements:
        if judgement.status != "short":
            continue
        claim = judgement.claim
        message = f"{claim.how}: {claim.text} is an abbreviated revision of {claim.name}"
        if judgement.pin is not None:
            yield off_pin(context, CODE, judgement, message)
            continue
        yield finding(
            CODE, "error", judgement.document, judgement.at.span, message,
            expected="a full commit id", found=claim.text,
            fix="write all 40 digits: git rev-parse " + claim.text,
                subject=judgement.claim.name,
        )  # fmt: skip
