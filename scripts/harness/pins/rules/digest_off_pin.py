"""An image digest that is not the pinned one."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context, off_pin

CODE = "digest-off-pin"
SUMMARY = "an image digest differs from its pin"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every digest off its pin."""
    for judgement in context.of_status("off", "digest"):
        message = f"{judgement.claim.how}: {judgement.claim.name} has another digest than its pin"
        yield off_pin(context, CODE, judgement, message)
