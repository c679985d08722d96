"""The result of one case, or of one check, in one lane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from harness.smoke.outcome import Outcome

Verdict = Literal["passed", "failed", "not-run"]


@dataclass(frozen=True)
class Result:
    """What came out. `problems` says why it failed, `reason` why it was not run.

    `digests` gives the SHA-256 of the subjects that must agree between the lanes; `is_case` tells
    acceptance cases, which can be repeated one by one, from the checks of a lane.
    """

    lane: str
    case: str
    title: str
    verdict: Verdict
    problems: tuple[str, ...] = ()
    reason: str | None = None
    outcomes: tuple[Outcome, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)
    is_case: bool = False

    @property
    def seconds(self) -> float:
        """How long its runs took together."""
        return sum(outcome.seconds for outcome in self.outcomes)


def judged(
    lane: str,
    case: str,
    title: str,
    problems: list[str],
    outcomes: tuple[Outcome, ...] = (),
    digests: dict[str, str] | None = None,
    *,
    is_case: bool = False,
) -> Result:
    """Return the result of something that was run: passed where there is no problem."""
    verdict: Verdict = "failed" if problems else "passed"
    return Result(
        lane, case, title, verdict, tuple(problems), None, outcomes, digests or {}, is_case
    )


def not_run(lane: str, case: str, title: str, reason: str, *, is_case: bool = False) -> Result:
    """Return the result of something that was not run. It never counts as passed."""
    return Result(lane, case, title, "not-run", reason=reason, is_case=is_case)
