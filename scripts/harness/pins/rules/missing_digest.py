"""A pinned image named without the digest that its pin has."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context, off_pin

CODE = "missing-digest"
SUMMARY = "an image is named without its pinned digest"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every such image."""
    for judgement in context.of_status("undigested"):
        claim = judgement.claim
        message = f"{claim.how}: image {claim.name} has a pinned digest, and none is named here"
        yield off_pin(context, CODE, judgement, message)
