"""The `replay-sim` command: one module of this package for each of its commands."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from replay_sim import __revision__, __version__
from replay_sim.cli import convert, execute, failures, inspect, plan, run, sample, schema
from replay_sim.cli.console import log


class _Version(argparse.Action):
    """argparse's own action would fold the line at the width of the terminal."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"replay-sim {__version__} (source {__revision__})")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every command."""
    parser = argparse.ArgumentParser(
        prog="replay-sim",
        description="Replay LLM inference traces against simulated workers behind the KV router.",
        epilog="exit codes: 0 done, 1 wrong lines found or no plan, 2 bad setting or trace, "
        "4 internal error, 130 interrupted",
        allow_abbrev=False,
    )
    help_text = "print the version and the source revision, and exit"
    parser.add_argument("--version", action=_Version, nargs=0, help=help_text)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    run.register(commands)
    plan.register(commands)
    inspect.register(commands)
    convert.register(commands)
    sample.register(commands)
    schema.register(commands)
    execute.register(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every error becomes one message and a code."""
    try:
        arguments = build_parser().parse_args(argv)
        code = arguments.run(arguments)
        sys.stdout.flush()
        return failures.OK if code is None else int(code)
    except BrokenPipeError:
        # The reader of our output went away (`replay-sim … | head`): nobody is left to tell.
        sys.stderr.close()
        return failures.OK
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was written", failures.INTERRUPTED)
    except Exception as error:
        failure = failures.of(error)
        if failure is not None:
            return _fail(str(error), failure.code)
        log.print(traceback.format_exc(), markup=False)
        return _fail("internal error (please report it with the lines above)", failures.INTERNAL)


def _fail(message: str, code: int) -> int:
    log.print("[bold red]error:[/] ", end="")
    log.print(message, markup=False)
    return code
