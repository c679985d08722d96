"""Exit codes, and which error has which."""

from __future__ import annotations

from typing import NamedTuple

from replay_sim.errors import ConfigError, ReplayError, TraceError

OK, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 2, 4, 130


class Failure(NamedTuple):
    """What an error means to the caller."""

    #: Stable name of the kind of error.
    kind: str
    #: Exit code of the command.
    code: int


#: The first class that fits; an error of no class is a fault of this program.
FAILURES: tuple[tuple[type[BaseException], Failure], ...] = (
    (ConfigError, Failure("config", BAD_INPUT)),
    (TraceError, Failure("trace", BAD_INPUT)),
    (ReplayError, Failure("internal", INTERNAL)),
    (OSError, Failure("file", BAD_INPUT)),
    (KeyboardInterrupt, Failure("interrupted", INTERRUPTED)),
)


def of(error: BaseException) -> Failure | None:
    """Return what a foreseen error means; None for a fault of this program."""
    return next((failure for kind, failure in FAILURES if isinstance(error, kind)), None)
