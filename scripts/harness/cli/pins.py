"""`harness pins`: one source of pins, every place checked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ExitCode, InputError

if TYPE_CHECKING:
    from harness.pins.repository import Repository

FORMATS = ("text", "json", "github", "sarif")


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    group = subparsers.add_parser("pins", help="compare, align and move the pins of a repository")
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)

    check = _add(commands, "check", _check, "compare every place with its pin")
    check.add_argument("--format", choices=FORMATS, default="text")


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: object,
    text: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("--root", type=Path, help="the repository (default: the checkout here)")
    command.add_argument("--pins", type=Path, help="the pins file (default: deps/pins.toml)")
    command.set_defaults(run=run)
    return command


def _repository(arguments: argparse.Namespace) -> Repository:
    from harness.pins import config
    from harness.pins.repository import Repository

    root = _root(arguments)
    return Repository(root, config.load(root, arguments.pins))


def _root(arguments: argparse.Namespace) -> Path:
    from harness.paths import find_root

    if arguments.root is None:
        return Path.cwd() if arguments.pins is not None else find_root()
    root: Path = arguments.root
    if not root.is_dir():
        raise InputError("there is no such folder", where=str(root), fix="name a repository")
    return root.resolve()


def _check(arguments: argparse.Namespace) -> int:
    from importlib import import_module

    from harness.pins.check import check

    report = check(_repository(arguments))
    text = import_module(f"harness.pins.formats.{arguments.format}").render(report)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    return ExitCode.OK if report.clean else ExitCode.FINDINGS
