"""`replay-sim sample`: a small synthetic trace."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from replay_sim import api, files


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "sample",
        help="write a small synthetic trace",
        description="Write a synthetic trace (format mooncake, block size 512): conversations "
        "that share system prompts and grow turn by turn. The same numbers give the same bytes.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--requests", type=_count, default=200, metavar="N", help="rows")
    parser.add_argument("--seed", type=_count, default=1, metavar="N", help="seed")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where to; standard output if not given"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the trace."""
    text = api.sample_trace(arguments.requests, arguments.seed)
    if arguments.output is None:
        sys.stdout.write(text)
        return
    files.check_target(arguments.output)
    with files.replacing(arguments.output) as temporary:
        temporary.write_bytes(text.encode())


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**64:
        raise argparse.ArgumentTypeError(f"{text} is not within 0 and 2^64 - 1")
    return value
