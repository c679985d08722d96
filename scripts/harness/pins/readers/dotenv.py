"""`.env` files: variables for compose and for shells."""

from __future__ import annotations

import re

from harness.pins.tokens import Claim, Reading

NAME = "dotenv"
_LINE = re.compile(
    r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*"
    r"(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s#][^\n#]*?))?[ \t\r]*(?:#.*)?$",
    re.MULTILINE,
)


def read(reading: Reading) -> None:
    """Read one file."""
    document = reading.document
    for match in _LINE.finditer(document.text):
        group = next((group for group in (2, 3, 4) if match[group]), None)
        if group is not None:
            at = document.located(document.traced(*match.span(group)))
            reading.claims.append(Claim("build-arg", match[1], "value", at, ".env"))
