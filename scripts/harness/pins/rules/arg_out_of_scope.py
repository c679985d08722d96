"""A Dockerfile argument used where Docker does not see it: it is empty there."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.tokens import ArgOutOfScope

CODE = "arg-out-of-scope"
SUMMARY = "an ARG is used in a stage that does not declare it"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every use out of scope."""
    for document, fact in context.repository.facts(ArgOutOfScope):
        yield finding(
            CODE,
            "warning",
            document,
            fact.at,
            f"{fact.name} is empty here: this stage does not declare it",
            related=[place(document, fact.declared)],
            fix=f"add `ARG {fact.name}` to the stage",
        )
