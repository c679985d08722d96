"""`replay-sim run`: replay a trace."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from replay_sim import api, config, files, table
from replay_sim.cli import arguments
from replay_sim.cli.console import log, show
from replay_sim.cli.progress import ReplayBar
from replay_sim.errors import ConfigError
from replay_sim.options import OPTIONS


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="replay a trace and measure latency, throughput and cache reuse",
        description="Replay trace files, one after the other, as one trace, in simulated time.",
        epilog="Options go before the configuration file. Results go to standard output, "
        "progress and warnings to standard error.",
        allow_abbrev=False,
    )
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE", help="plain, gzip or zstd")
    parser.add_argument(
        "-c", "--config", type=Path, metavar="FILE", help="settings as TOML, JSON or YAML"
    )
    arguments.add_options(parser, OPTIONS)
    results = parser.add_argument_group("results")
    results.add_argument("--report", type=Path, metavar="FILE", help="write the report as JSON")
    results.add_argument(
        "--requests", type=Path, metavar="FILE", help="write one JSON line for each request"
    )
    results.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="what goes to standard output: a table, or the report (default: table)",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Replay, write the files, print the result."""
    document: dict[str, Any] = {}
    traces: list[Path] = list(given.traces)
    if given.config is not None:
        document, paths = config.load(given.config)
        traces = traces or paths
    if not traces:
        raise ConfigError("no trace given\n  fix: replay-sim run TRACE, or trace.paths in a file")
    for target in (given.report, given.requests):
        if target is not None:
            files.check_target(target)
    settings: Any = {option.name: getattr(given, option.name) for option in OPTIONS}
    with ReplayBar() as bar:

        def watch(progress: api.Progress) -> None:
            bar.update("replaying", progress)

        result = api.run(*traces, config=document, progress=watch, **settings)
    for warning in result.report["trace"]["warnings"]:
        place = f"{traces[warning['file']]}:{warning['line']}"
        more = f" (and {warning['count'] - 1:,} more like it)" if warning["count"] > 1 else ""
        log.print("[bold yellow]warning:[/] ", end="")
        log.print(f"{place}: {warning['message']}{more}", markup=False)
    _write(result, given.report, given.requests)
    if given.format == "json":
        sys.stdout.write(result.report_json())
    else:
        show(*table.render(result))


def _write(result: api.Result, report: Path | None, requests: Path | None) -> None:
    # Both are complete before the first takes its place.
    with ExitStack() as stack:
        if report is not None:
            target = stack.enter_context(files.replacing(report))
            target.write_text(result.report_json(), encoding="utf-8")
        if requests is not None:
            result.write_requests(stack.enter_context(files.replacing(requests)))
