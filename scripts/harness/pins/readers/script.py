"""Shell scripts."""

from __future__ import annotations

import re

from harness.pins import shell
from harness.pins.readers import shell_claims
from harness.pins.text import Document
from harness.pins.tokens import Override, Reading

NAME = "shell"
_SHEBANG = re.compile(rb"#!.*\b(?:sh|bash|dash)\b")


def glance(document: Document) -> bool:
    """Say whether this is a script: its ending or its first line tells."""
    return document.path.endswith((".sh", ".bash")) or bool(_SHEBANG.match(document.data))


def read(reading: Reading) -> None:
    """Read one script."""
    commands = shell.commands(reading.document.whole(), lambda name: None)
    shell_claims.read_commands(reading, commands, "script")
    # A script may build unlocked on purpose; only images must not.
    reading.facts = [fact for fact in reading.facts if not isinstance(fact, Override)]
