"""Steps of a long run: each announced, each timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.console import step


@dataclass
class Steps:
    """Name and seconds of every finished step, in order."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, message: str) -> Iterator[None]:
        """Announce a step and take its time."""
        step(message)
        start = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - start
