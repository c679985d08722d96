"""`harness wheels`."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.errors import ExitCode


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    group = subparsers.add_parser("wheels", help="look at wheels and wheelhouses")
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)
    audit = commands.add_parser(
        "audit",
        help="check a folder of wheels before anyone installs it",
        description="Check every wheel of a folder, and the folder as a whole. "
        "The findings are explained in docs/wheels.md.",
    )
    audit.add_argument("folder", metavar="DIR", type=Path, help="the wheelhouse")
    audit.add_argument(
        "--first-party",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="apply the rules for our own wheels to these too "
        "(those that the manifest marks are always checked)",
    )
    audit.add_argument("--format", choices=("text", "json"), default="text")
    audit.set_defaults(run=run_audit)


def run_audit(arguments: argparse.Namespace) -> int:
    """Run `harness wheels audit`."""
    from harness.console import out
    from harness.wheels.audit import audit
    from harness.wheels.report import as_json, print_text

    report = audit(arguments.folder, arguments.first_party)
    if arguments.format == "json":
        print(as_json(report))
    else:
        print_text(report, out)
    return ExitCode.FINDINGS if report.errors else ExitCode.OK
