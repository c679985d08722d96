"""Text in the place of a version, revision or digest that is none."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context

CODE = "malformed-value"
SUMMARY = "a value can't be read as a version, revision or digest"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every value that is nothing of its kind."""
    for judgement in context.judgements:
        if judgement.status == "malformed":
            claim = judgement.claim
            yield finding(
                CODE, "error", judgement.document, judgement.at.span,
                f"{claim.how}: {judgement.at.text!r} is no {judgement.what} of {claim.name}",
                expected=judgement.expected, found=judgement.at.text,
                related=context.pin_place(judgement), fix="correct the spelling",
                pin=judgement.pin.name if judgement.pin else None,
                refusal="the value can't be read",
            )  # fmt: skip
