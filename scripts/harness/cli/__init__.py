"""The `harness` command: one module of this package for each group of commands."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from importlib import import_module

from harness.errors import ExitCode, HarnessError

# Each module adds its own commands with `register(subparsers)`; a command sets `run`, a function
# from the parsed arguments to an exit code. Heavy imports belong inside `run`.
GROUPS = ("pins", "source", "engine", "images", "wheels", "smoke", "release")


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


def _explain(error: OSError) -> str:
    if isinstance(error, PermissionError) and error.filename:
        return (
            f"{error.filename}: permission denied\n  fix: an earlier run as root owns it? remove it"
        )
    if error.errno == errno.ENOSPC:
        return f"{error.filename or 'disk'}: no space left\n  fix: make clean, docker system prune"
    return str(error)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; every error becomes one message and an exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except HarnessError as error:
        _say("[bold red]error:[/] ", str(error))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`harness … | head`): nobody is left to tell.
        sys.stderr.close()
        return ExitCode.OK
    except KeyboardInterrupt:
        _say("", "interrupted; run the same command again to go on")
        return 130
    except OSError as error:
        # No permission, no space left, and what the engine's SDK raises for a refused call.
        _say("[bold red]error:[/] ", _explain(error))
        return ExitCode.TOOL
    except Exception:
        _say("[bold red]internal error[/] (please report it with the lines below)\n", _trace())
        return ExitCode.INTERNAL


def _say(markup: str, text: str) -> None:
    # Only a command that fails or talks pays for the import of rich.
    from harness.console import log

    log.print(markup, end="")
    log.print(text, markup=False)


def _trace() -> str:
    import traceback

    return traceback.format_exc()
