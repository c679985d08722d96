"""Import names of Python and Rust sources; read only where names are retired."""

from __future__ import annotations

import re

from harness.pins.tokens import Mention, Reading

NAME = "imports"
_PYTHON = re.compile(r"^[ \t]*(?:from[ \t]+|import[ \t]+)([A-Za-z_]\w*)", re.MULTILINE)
_RUST = re.compile(
    r"^[ \t]*(?:pub[ \t]+)?(?:use[ \t]+(?:::)?|extern[ \t]+crate[ \t]+)([A-Za-z_]\w*)", re.MULTILINE
)


def read(reading: Reading) -> None:
    """Read one source file."""
    document = reading.document
    pattern = _RUST if document.path.endswith(".rs") else _PYTHON
    for match in pattern.finditer(document.text):
        at = document.located(document.traced(*match.span(1)))
        reading.facts.append(Mention("import", match[1], at))
