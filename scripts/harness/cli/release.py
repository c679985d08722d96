"""`harness release`."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.errors import ExitCode


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    group = subparsers.add_parser("release", help="see what users of a release would get")
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)
    check = commands.add_parser(
        "check",
        help="install the wheelhouse from a package index on loopback",
        description="Serve a wheelhouse from a real package index on loopback, resolve and install "
        "it by name, version and hash, outside any container, and check what was installed.",
    )
    check.add_argument("--wheelhouse", metavar="DIR", type=Path, help="default: build/wheelhouse")
    check.add_argument(
        "--python",
        metavar="PYTHON",
        action="append",
        default=[],
        help="a version, a program or a path; may be repeated (default: all that are found)",
    )
    check.add_argument("--evidence", metavar="DIR", type=Path, help="default: build/evidence-index")
    check.add_argument("--format", choices=("text", "json"), default="text")
    check.set_defaults(run=run_check)
    revision = commands.add_parser("revision", help="see that HEAD is the commit to be released")
    revision.add_argument("revision", metavar="REVISION", help="all 40 hex digits")
    revision.set_defaults(run=run_revision)


def run_check(arguments: argparse.Namespace) -> int:
    """Run `harness release check`."""
    from harness.cli.smoke import report
    from harness.paths import find_root
    from harness.release.check import check

    root = find_root()
    results, evidence = check(
        arguments.wheelhouse or root / "build" / "wheelhouse",
        arguments.python,
        arguments.evidence or root / "build" / "evidence-index",
    )
    return report(results, evidence, arguments.format)


def run_revision(arguments: argparse.Namespace) -> int:
    """Run `harness release revision`."""
    from harness.paths import find_root
    from harness.release.revision import require_head

    require_head(find_root(), arguments.revision)
    print(f"HEAD is {arguments.revision}")
    return ExitCode.OK
