"""`harness engine`: which container engine is used, and why."""

from __future__ import annotations

import argparse

from harness.errors import ExitCode


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    parser = subparsers.add_parser("engine", help="say which container engine is used, and why")
    parser.add_argument(
        "--start",
        action="store_true",
        help="install and start one where none answers (root on Debian, Ubuntu)",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from harness.engine import ensure, find

    print((ensure() if arguments.start else find()).describe())
    return ExitCode.OK
