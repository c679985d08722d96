"""`replay-sim inspect` and `replay-sim validate`: a trace without a replay."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, cast

from rich.table import Table

from replay_sim import api
from replay_sim.cli import arguments
from replay_sim.cli.console import show
from replay_sim.options import OPTIONS
from replay_sim.types import Inspection

#: The options that decide how a trace is read.
READING = [
    option
    for option in OPTIONS
    if option.name in {"trace_format", "trace_block_size", "block_size"}
]
#: Wrong lines that are shown.
SHOWN = 100


def register(commands: Any) -> None:
    """Add both commands to the parser."""
    for name, run, text in (
        ("inspect", inspect, "print what a trace holds"),
        ("validate", validate, "name every wrong line of a trace; exit code 1 if there are any"),
    ):
        parser: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False
        )
        parser.add_argument(
            "traces", nargs="+", type=Path, metavar="TRACE", help="plain, gzip or zstd"
        )
        arguments.add_options(parser, READING)
        if run is inspect:
            parser.add_argument(
                "--format",
                choices=("table", "json"),
                default="table",
                help="what goes to standard output (default: table)",
            )
        parser.set_defaults(run=run)


def inspect(given: argparse.Namespace) -> None:
    """Print what a trace holds."""
    found = api.inspect(*given.traces, **_settings(given))
    if given.format == "json":
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        show(_totals(found), _lengths(found))


def validate(given: argparse.Namespace) -> int:
    """Name every wrong line; return the exit code."""
    wrong = api.validate(*given.traces, limit=SHOWN, **_settings(given))
    for message in wrong.messages:
        sys.stdout.write(f"{message}\n")
    hidden = wrong.wrong - len(wrong.messages)
    more = f" ({hidden:,} of them not shown)" if hidden else ""
    sys.stdout.write(f"{wrong.requests:,} requests, {wrong.wrong:,} wrong lines{more}\n")
    return 1 if wrong.wrong else 0


def _settings(given: argparse.Namespace) -> Any:
    return {option.name: getattr(given, option.name) for option in READING}


def _totals(found: Inspection) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan")
    table.add_column()
    sessions = f"{found['sessions']:,} of up to {found['most_turns']:,} turns"
    table.add_row("requests", f"{found['requests']:,}")
    table.add_row("sessions", sessions)
    table.add_row("span", f"{found['span_ms'] / 1e3:,.1f} s")
    table.add_row("tokens", f"{found['input_tokens']:,} in, {found['output_tokens']:,} out")
    table.add_row("blocks", f"{found['distinct_blocks']:,} different trace blocks")
    reuse = f"{found['best_prefix_reuse']:.2%} of prompt tokens: one worker, infinite cache"
    table.add_row("best reuse", reuse)
    return table


def _lengths(found: Inspection) -> Table:
    table = Table()
    statistics = ("mean", "min", "median", "p90", "p99", "max")
    table.add_column("", no_wrap=True)
    for name in statistics:
        table.add_column(name, justify="right")
    rows = (
        ("prompt, tokens", found["input_length"]),
        ("output, tokens", found["output_length"]),
        ("think time, ms", found["delay_ms"]),
    )
    for label, values in rows:
        if values is not None:
            figures = cast(dict[str, float], values)
            table.add_row(label, *(f"{figures[name]:,.0f}" for name in statistics))
    return table
