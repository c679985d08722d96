"""`replay-sim convert`: a trace in another format."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from replay_sim import api
from replay_sim.cli import arguments
from replay_sim.cli.console import log
from replay_sim.cli.inspect import READING

#: Each option of `inspect` but the engine's block size, which has no part in this.
OPTIONS = [option for option in READING if option.group == "trace"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "convert",
        help="write a trace in another format, if nothing is lost",
        description="Write a trace in another format. What the format cannot hold is named, and "
        "nothing is written then.",
        allow_abbrev=False,
    )
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="plain, gzip or zstd")
    formats = next(option.choices for option in OPTIONS if option.name == "trace_format")
    parser.add_argument("--to", choices=formats, required=True, help="format to write")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True, help="where to, as plain text"
    )
    arguments.add_options(parser, OPTIONS)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Convert, and say how to read the file."""
    settings: Any = {option.name: getattr(given, option.name) for option in OPTIONS}
    done = api.convert(*given.traces, to=given.to, output=given.output, **settings)
    log.print(
        f"{done.requests:,} requests; read them with --trace-format {given.to} "
        f"--trace-block-size {done.block_size}",
        markup=False,
    )
