"""A toolchain channel (stable, nightly) where a version is pinned."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context, off_pin

CODE = "moving-toolchain"
SUMMARY = "a toolchain is a channel that moves: stable, beta, nightly"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every moving channel of a pinned toolchain."""
    for judgement in context.of_status("moving"):
        pin = judgement.pin
        if judgement.claim.kind != "toolchain" and not (
            judgement.claim.kind == "build-arg" and pin and pin.toolchain and not pin.images
        ):
            continue
        claim = judgement.claim
        message = f"{claim.how}: {claim.name} is {claim.text!r}, which moves"
        yield off_pin(context, CODE, judgement, message)
