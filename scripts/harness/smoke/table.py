"""The closing table: cases down, lanes across."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.smoke.evidence import Evidence
from harness.smoke.result import Result, Verdict

MARKS: dict[Verdict, str] = {
    "passed": "[green]ok[/]",
    "failed": "[bold red]FAILED[/]",
    "not-run": "[yellow]not run[/]",
}
SHOWN_PROBLEMS = 5
SHOWN_CHARACTERS = 600


def print_results(results: Sequence[Result], evidence: Evidence, console: Console) -> None:
    """Print the table, then what was not run and what failed, with the command to repeat it."""
    lanes = list(dict.fromkeys(result.lane for result in results))
    by_case: dict[str, dict[str, Result]] = {}
    # Checks first: those of the later lanes would otherwise follow the first lane's cases.
    for result in sorted(results, key=lambda result: result.is_case):
        by_case.setdefault(result.case, {})[result.lane] = result
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("case", no_wrap=True)
    for lane in lanes:
        table.add_column(escape(lane), overflow="fold", min_width=len("not run"))
    for case, row in by_case.items():
        table.add_row(escape(case), *(_cell(row.get(lane)) for lane in lanes))
    console.print(table)
    for reason, names in _not_run(results).items():
        console.print(f"[yellow]not run[/] {escape(', '.join(names))}: {escape(reason)}")
    for result in results:
        if result.verdict == "failed":
            console.print(f"[bold red]failed[/] {escape(result.lane)}: {escape(result.case)}")
            for problem in result.problems[:SHOWN_PROBLEMS]:
                console.print(f"  {_shortened(problem)}", markup=False)
            if len(result.problems) > SHOWN_PROBLEMS:
                more = len(result.problems) - SHOWN_PROBLEMS
                console.print(f"  … and {more} more in the evidence", markup=False)
            for outcome in result.outcomes:
                if result.is_case and outcome.exit_code != 0 and outcome.stderr.strip():
                    console.print(f"  it said: {_shortened(outcome.tail())}", markup=False)
            console.print(f"  repeat: {evidence.repeat_command(result)}", markup=False)


def _shortened(problem: str) -> str:
    return problem if len(problem) <= SHOWN_CHARACTERS else f"{problem[:SHOWN_CHARACTERS]}…"


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    seconds = f" {result.seconds:.1f}s" if result.is_case and result.outcomes else ""
    return MARKS[result.verdict] + seconds


def _not_run(results: Sequence[Result]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for result in results:
        if result.verdict == "not-run":
            reasons.setdefault(result.reason or "", []).append(f"{result.lane}: {result.case}")
    return reasons
