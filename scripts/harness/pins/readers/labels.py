"""Image labels that say what an image was made from."""

from __future__ import annotations

from harness.pins.readers import common
from harness.pins.text import Traced
from harness.pins.tokens import Claim, Reading

REVISION = ("org.opencontainers.image.revision", "org.label-schema.vcs-ref")
BASE_NAME = "org.opencontainers.image.base.name"


def read_label(reading: Reading, name: str, value: Traced, how: str) -> None:
    """Add the claim of one label, where it is one that names a pinned thing."""
    if name in REVISION and value.text:
        at = reading.document.located(value)
        reading.claims.append(Claim("label", name, "revision", at, f"{how} {name}", ref="rev"))
    elif name == BASE_NAME:
        common.image_claims(reading, value, f"{how} {name}")
