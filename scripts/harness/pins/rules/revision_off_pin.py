"""A full revision that is not the pinned one."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context, off_pin

CODE = "revision-off-pin"
SUMMARY = "a revision differs from its pin"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every revision off its pin (labels have a rule of their own)."""
    for judgement in context.of_status("off", "revision"):
        claim = judgement.claim
        message = (
            f"{claim.how}: {claim.name} is at {judgement.at.text[:12]}…, "
            f"pin {judgement.pin.name!r} says {str(judgement.expected)[:12]}…"  # type: ignore[union-attr]
        )
        yield off_pin(context, CODE, judgement, message)
