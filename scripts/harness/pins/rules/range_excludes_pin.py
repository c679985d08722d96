"""A range or a floor that the pinned version does not satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context, off_pin

CODE = "range-excludes-pin"
SUMMARY = "a version range does not admit the pinned version"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every range or floor that excludes its pin."""
    for judgement in context.of_status("excluded"):
        claim = judgement.claim
        message = (
            f"{claim.how}: {claim.name} {claim.text} does not admit {judgement.expected}, "
            f"which pin {judgement.pin.name!r} says"  # type: ignore[union-attr]
        )
        yield off_pin(context, CODE, judgement, message)
