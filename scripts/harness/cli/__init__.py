"""The `harness` command: one module of this package for each group of commands."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from harness.console import log
from harness.errors import ExitCode, HarnessError

# Each module adds its own commands with `register(subparsers)`; a command sets `run`, a function
# from the parsed arguments to an exit code. Heavy imports belong inside `run`.
GROUPS = ("pins", "source", "engine", "images", "wheels", "smoke")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every command registered."""
    parser = argparse.ArgumentParser(
        prog="harness",
        description="Build, check and smoke-test the kv-router and replay-sim wheels and images.",
        epilog="exit codes: 0 clean, 1 findings or a failed case, 2 bad configuration or input, "
        "3 a tool is missing or too old, 4 internal error",
    )
    subparsers = parser.add_subparsers(dest="group", metavar="COMMAND", required=True)
    for name in GROUPS:
        import_module(f"harness.cli.{name}").register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; every error becomes one message and an exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except HarnessError as error:
        log.print("[bold red]error:[/] ", end="")
        log.print(str(error), markup=False)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`harness … | head`): nobody is left to tell.
        sys.stderr.close()
        return ExitCode.OK
    except KeyboardInterrupt:
        log.print("interrupted; run the same command again to go on", markup=False)
        return 130
    except Exception:
        log.print("[bold red]internal error[/] (please report it with the lines below)")
        log.print(traceback.format_exc(), markup=False)
        return ExitCode.INTERNAL
