"""The compiled half of the package; use `replay_sim` instead."""

from collections.abc import Callable, Sequence
from os import PathLike

__version__: str
__revision__: str

class ReplayError(Exception):
    """A replay did not happen."""

class ConfigError(ReplayError):
    """A setting is wrong; the message names it and says what to do."""

class TraceError(ReplayError):
    """A trace file is wrong; the message begins with FILE:LINE."""

class Report:
    """The outcome of one replay."""

    @property
    def wall_seconds(self) -> float:
        """Host time of the event loop alone, s; not part of the report."""

    def to_json(self) -> str:
        """Return the report document, indented, with a newline at the end."""

    def requests_jsonl(self) -> str:
        """Return one JSON object a line for each request that ended, in trace order."""

    def write_requests(self, path: str | PathLike[str]) -> None:
        """Write what `requests_jsonl` returns to a file.

        Raises:
            OSError: the file cannot be written.
        """

def resolve_config(config: str) -> str:
    """Check a configuration document (JSON) and return it with every default explicit.

    Raises:
        ConfigError: a key is unknown or a value is wrong.
    """

def run(
    traces: Sequence[str | PathLike[str]],
    config: str,
    watch: Callable[[int, int, float], object] | None = None,
    router: Callable[[str], Callable[[str], str]] | None = None,
) -> Report:
    """Replay the trace files, one after the other, as one trace.

    Args:
        traces: the files.
        config: configuration document, JSON.
        watch: called about ten times a second with (requests ended, requests of the trace,
            simulated time in ms); what it raises ends the replay.
        router: called with the setup of a router (JSON); gives what answers its commands.

    Raises:
        ConfigError: the configuration is wrong.
        TraceError: a trace file is wrong.
        KeyboardInterrupt: a signal arrived.
    """

def inspect(traces: Sequence[str | PathLike[str]], config: str) -> str:
    """Return what the trace holds, as JSON; see `replay_sim.types.Inspection`.

    Raises:
        ConfigError: the configuration is wrong.
        TraceError: a trace file is wrong.
    """

def validate(
    traces: Sequence[str | PathLike[str]], config: str, limit: int
) -> tuple[list[str], int, int]:
    """Read the whole trace, wrong lines or not.

    Returns:
        The messages of the first `limit` wrong lines, the number of wrong lines, and the number
        of requests in the others.

    Raises:
        ConfigError: the configuration is wrong.
        TraceError: a file cannot be read.
    """

def convert(
    traces: Sequence[str | PathLike[str]], config: str, into: str, output: str | PathLike[str]
) -> tuple[int, int]:
    """Write the trace to `output` in the format that the configuration document `into` names.

    Returns:
        The number of requests, and the tokens of a hash id.

    Raises:
        ConfigError: a configuration is wrong.
        TraceError: a trace file is wrong, or a field of it would be lost.
        OSError: the output cannot be written.
    """

def sample_trace(requests: int, seed: int) -> str:
    """Return a synthetic `mooncake` trace with a block size of 512 tokens."""
