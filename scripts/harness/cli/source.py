"""`harness source`: the pinned source revision."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from harness.errors import ExitCode
from harness.paths import find_root


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    group = subparsers.add_parser("source", help="the pinned source revision")
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)

    show = commands.add_parser("show", help="print the revision and tree that a build would use")
    show.set_defaults(run=_show)
    check = commands.add_parser(
        "check", help="fail when HEAD's sources differ from the pinned ones"
    )
    check.set_defaults(run=_check)
    bump = commands.add_parser("bump", help="move the pin to a revision of this repository")
    bump.add_argument("revision", nargs="?", default="HEAD", help="default: HEAD")
    bump.set_defaults(run=_bump)
    export = commands.add_parser("export", help="write the pinned sources into a folder")
    export.add_argument("folder", type=Path, help="a folder that is not there yet")
    export.set_defaults(run=_export)
    for command in (show, export):
        command.add_argument(
            "--source",
            default=os.environ.get("SOURCE", "pinned"),
            choices=("pinned", "worktree"),
            help="the pinned revision, or the edited work tree marked +dirty (default: $SOURCE)",
        )


def _show(arguments: argparse.Namespace) -> int:
    from harness.source import export, pin

    loaded = pin.load(find_root())
    source = export.resolve(loaded, arguments.source)
    print(f"revision {source.revision}\ntree     {source.tree}")
    return ExitCode.OK


def _check(arguments: argparse.Namespace) -> int:
    from harness.source import check, pin

    loaded = pin.load(find_root())
    found = check.drift(loaded)
    if found is None:
        print(f"source pin {loaded.revision[:12]}: clean")
        return ExitCode.OK
    print(f"{loaded.where()}: error: the pinned source {found.pinned[:12]} differs from HEAD")
    for path in found.files:
        print(f"  {path}")
    print("  fix: harness source bump && git commit deps/pins.toml")
    return ExitCode.FINDINGS


def _bump(arguments: argparse.Namespace) -> int:
    from harness.source import check, pin

    loaded = pin.load(find_root())
    commit, tree = check.bump(loaded, arguments.revision)
    print(f"source pin moved to {commit}\ntree {tree}")
    return ExitCode.OK


def _export(arguments: argparse.Namespace) -> int:
    from harness.errors import InputError
    from harness.source import export, pin

    if arguments.folder.exists():
        raise InputError("already there", where=str(arguments.folder), fix="name a new folder")
    loaded = pin.load(find_root())
    source = export.resolve(loaded, arguments.source)
    export.export(source, arguments.folder)
    print(f"{source.revision} -> {arguments.folder}")
    return ExitCode.OK
