"""A pinned crate or distribution taken from another repository."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context, off_pin

CODE = "repository-off-pin"
SUMMARY = "a pinned thing comes from another repository"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every repository that is not the pin's."""
    for judgement in context.of_status("elsewhere"):
        claim = judgement.claim
        message = (
            f"{claim.how}: {claim.name} comes from {claim.text}, its pin says {judgement.expected}"
        )
        yield off_pin(context, CODE, judgement, message)
