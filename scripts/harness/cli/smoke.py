"""`harness smoke`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.smoke.evidence import Evidence
    from harness.smoke.result import Result


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    smoke = subparsers.add_parser(
        "smoke",
        help="install the wheelhouse, run every check and acceptance case, leave evidence",
        description="Install a wheelhouse into a clean environment with the network off, check "
        "the images against it, and run the acceptance cases in each. Without --host and --image "
        "it takes the host and both images of `make images`.",
    )
    smoke.add_argument("--wheelhouse", metavar="DIR", type=Path, help="default: build/wheelhouse")
    smoke.add_argument("--host", action="store_true", help="take the host lane")
    smoke.add_argument(
        "--image", metavar="NAME", action="append", default=[], help="take this image's lane"
    )
    smoke.add_argument(
        "--python",
        metavar="PYTHON",
        action="append",
        default=[],
        help="a Python for the host lane: a version, a program or a path (default: all)",
    )
    smoke.add_argument(
        "--trace", metavar="FILE", type=Path, help="replay this trace (default: the shipped sample)"
    )
    smoke.add_argument(
        "--traces",
        metavar="DIR",
        type=Path,
        help="folder of the public traces (default: shared/traces beside the checkout)",
    )
    smoke.add_argument(
        "--case", metavar="NAME", action="append", default=[], help="run these cases only"
    )
    smoke.add_argument("--evidence", metavar="DIR", type=Path, help="default: build/evidence")
    smoke.add_argument("--format", choices=("text", "json"), default="text")
    smoke.set_defaults(run=run_smoke)


def run_smoke(arguments: argparse.Namespace) -> int:
    """Run `harness smoke`."""
    from harness.smoke.plan import make_plan
    from harness.smoke.runner import run

    plan = make_plan(
        wheelhouse=arguments.wheelhouse,
        host=arguments.host,
        images=arguments.image,
        pythons=arguments.python,
        trace=arguments.trace,
        public=arguments.traces,
        cases=arguments.case,
        evidence=arguments.evidence,
    )
    return report(run(plan), plan.evidence, arguments.format)


def report(results: Sequence[Result], evidence: Evidence, form: str) -> int:
    """Show the results, as "text" or "json", and return the exit code that they deserve."""
    from harness.console import log, out
    from harness.smoke.evidence import SUMMARY
    from harness.smoke.table import print_results

    if form == "json":
        print((evidence.folder / SUMMARY).read_text("utf-8"), end="")
    print_results(results, evidence, out if form == "text" else log)
    log.print(f"evidence: {evidence.folder}", markup=False)
    failed = any(result.verdict == "failed" for result in results)
    return ExitCode.FINDINGS if failed else ExitCode.OK
