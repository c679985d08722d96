"""What one run in a lane left behind."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Outcome:
    """One finished run: `files` are those that it wrote under {out}, by relative path."""

    command: Sequence[str]
    exit_code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    files: dict[str, bytes] = field(default_factory=dict)
    timed_out: bool = False

    @property
    def command_line(self) -> str:
        """The command as a shell takes it."""
        return shlex.join(self.command)

    def tail(self, limit: int = 2000) -> str:
        """Return the end of what the run said, for a person who has to find out why."""
        said = self.stderr.strip() or self.stdout.strip()
        return said[-limit:].decode("utf-8", "replace")
