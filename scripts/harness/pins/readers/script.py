"""Shell scripts."""

from __future__ import annotations

from harness.pins import shell
from harness.pins.readers import shell_claims
from harness.pins.tokens import Override, Reading

NAME = "shell"


def read(reading: Reading) -> None:
    """Read one script."""
    commands = shell.commands(reading.document.whole(), lambda name: None)
    shell_claims.read_commands(reading, commands, "script")
    # A script may build unlocked on purpose; only images must not.
    reading.facts = [fact for fact in reading.facts if not isinstance(fact, Override)]
