"""Replays from Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

from replay_sim import _core, config, files, options, timing
from replay_sim.errors import ConfigError
from replay_sim.options import Options
from replay_sim.types import Inspection, Report, RequestRow, Summary

#: Makes the router of a pool of workers: gets `{"config": …, "workers": …}` and gives what answers
#: commands, both as JSON text; see `host_router` of `run`.
RouterFactory = Callable[[str], Callable[[str], str]]


class Progress(NamedTuple):
    """How far a replay is."""

    #: Requests that are over.
    ended: int
    #: Requests of the trace.
    total: int
    #: Simulated time, ms.
    now_ms: float


@dataclass(frozen=True)
class Result:
    """The outcome of one replay."""

    _core: _core.Report

    @cached_property
    def report(self) -> Report:
        """The report document."""
        return cast(Report, json.loads(self._core.to_json()))

    @property
    def summary(self) -> Summary:
        """The figures; times are simulated ms."""
        return self.report["summary"]

    @cached_property
    def requests(self) -> list[RequestRow]:
        """One row for each request that ended, in the order of the trace."""
        return [json.loads(line) for line in self._core.requests_jsonl().splitlines()]

    @property
    def wall_seconds(self) -> float:
        """Host time of the event loop, s. It differs from run to run, so no report holds it."""
        return self._core.wall_seconds

    def report_json(self) -> str:
        """Return the report document as text: the same input gives the same bytes."""
        return self._core.to_json()

    def write_report(self, path: str | PathLike[str]) -> None:
        """Write the report document, whole or not at all.

        Raises:
            OSError: the file cannot be written.
        """
        with files.replacing(Path(path)) as temporary:
            temporary.write_text(self.report_json(), encoding="utf-8")

    def write_requests(self, path: str | PathLike[str]) -> None:
        """Write the rows as JSON Lines, whole or not at all.

        Raises:
            OSError: the file cannot be written.
        """
        with files.replacing(Path(path)) as temporary:
            self._core.write_requests(temporary)


def run(
    *traces: str | PathLike[str],
    config: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], object] | None = None,
    host_router: RouterFactory | None = None,
    **settings: Unpack[Options],
) -> Result:
    """Replay trace files, one after the other, as one trace.

    Args:
        traces: the files, plain, gzip or zstd.
        config: a configuration document: tables of settings, as in a configuration file.
        progress: called about ten times a second; what it raises ends the replay.
        host_router: a router to use in place of the one that is compiled in, such as
            `lambda setup: kv_router.OfflineRouter.from_json(setup).command`; needs the policy
            `kv_router`. What it raises ends the replay.
        settings: the options of `replay-sim run`; they go before `config`.

    Returns:
        The outcome. The same traces, settings and version give the same one.

    Raises:
        ConfigError: a setting is unknown or wrong.
        TraceError: a trace file is wrong.
    """
    document = _document(config, settings)
    watch = None
    if progress is not None:

        def watch(ended: int, total: int, now_ms: float) -> None:
            progress(Progress(ended, total, now_ms))

    paths = [Path(trace) for trace in traces]
    return Result(_core.run(paths, json.dumps(document), watch, host_router))


def resolve_config(
    config: Mapping[str, Any] | None = None, **settings: Unpack[Options]
) -> dict[str, Any]:
    """Check settings and return the whole document, every default explicit.

    Raises:
        ConfigError: a setting is unknown or wrong.
    """
    text = _core.resolve_config(json.dumps(_document(config, settings)))
    return cast(dict[str, Any], json.loads(text))


def inspect(
    *traces: str | PathLike[str],
    config: Mapping[str, Any] | None = None,
    **settings: Unpack[Options],
) -> Inspection:
    """Measure what a trace holds, without replaying it.

    The arguments are those of `run`; the format and both block sizes count.

    Raises:
        ConfigError: a setting is unknown or wrong.
        TraceError: a trace file is wrong.
    """
    text = _core.inspect([Path(trace) for trace in traces], json.dumps(_document(config, settings)))
    return cast(Inspection, json.loads(text))


class Validation(NamedTuple):
    """What is wrong with a trace."""

    #: Messages of the first wrong lines, each FILE:LINE: what; expected ... and the fix.
    messages: list[str]
    #: Number of wrong lines.
    wrong: int
    #: Number of requests in the other lines.
    requests: int


def validate(
    *traces: str | PathLike[str],
    limit: int = 100,
    config: Mapping[str, Any] | None = None,
    **settings: Unpack[Options],
) -> Validation:
    """Read a whole trace and name every wrong line, up to `limit` of them.

    Raises:
        ConfigError: a setting is unknown or wrong.
        TraceError: a file cannot be read, or holds nothing.
    """
    document = json.dumps(_document(config, settings))
    return Validation(*_core.validate([Path(trace) for trace in traces], document, limit))


class Conversion(NamedTuple):
    """What was written."""

    #: Number of requests.
    requests: int
    #: Tokens of a hash id: the trace block size to read the file with.
    block_size: int


def convert(
    *traces: str | PathLike[str],
    to: str,
    output: str | PathLike[str],
    config: Mapping[str, Any] | None = None,
    **settings: Unpack[Options],
) -> Conversion:
    """Write a trace as a file of the format `to`, whole or not at all.

    A replay of the file is the replay of the trace. The file is plain text; the other arguments
    are those of `inspect` and say how to read the trace.

    Raises:
        ConfigError: a setting is unknown or wrong, or the output cannot be there.
        TraceError: a trace file is wrong, or a field of it would be lost.
        OSError: the output cannot be written.
    """
    path = Path(output)
    document = json.dumps(_document(config, settings))
    into = json.dumps(_document(None, {"trace_format": to}))
    files.check_target(path)
    if path.suffix in {".gz", ".zst"}:
        raise ConfigError(f"{path}: is written as plain text\n  fix: leave out {path.suffix}")
    with files.replacing(path) as temporary:
        sources = [Path(trace) for trace in traces]
        return Conversion(*_core.convert(sources, document, into, temporary))


def sample_trace(requests: int = 200, seed: int = 1) -> str:
    """Return a synthetic trace of the `mooncake` format, block size 512.

    Conversations that share system prompts and grow turn by turn; the same arguments give the same
    text.
    """
    return _core.sample_trace(requests, seed)


def _document(document: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    # A deep copy: the options are written into it. What JSON has no type for (a date of a TOML
    # file) becomes text, which the core then refuses by name.
    copy: dict[str, Any] = json.loads(json.dumps(dict(document or {}), default=str))
    options.apply(copy, settings)
    config.check(copy)
    engine = copy.get("engine", {})
    if "timing" in engine:
        engine["timing"] = timing.resolve(engine["timing"], Path())
    return copy
