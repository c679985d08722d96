"""An exact version that is not the pinned one."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding
from harness.pins.rules import Context, off_pin

CODE = "version-off-pin"
SUMMARY = "an exact version differs from its pin"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every exact version, tag or build argument off its pin."""
    for judgement in context.of_status("off", "version"):
        claim = judgement.claim
        message = (
            f"{claim.how}: {claim.name} is {judgement.at.text}, "
            f"pin {judgement.pin.name!r} says {judgement.expected}"  # type: ignore[union-attr]
        )
        yield off_pin(context, CODE, judgement, message)
