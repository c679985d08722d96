"""A setting that takes crates from elsewhere than the lock says."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.tokens import Override

CODE = "source-override"
SUMMARY = "cargo takes crates from another place: paths, replace, replace-with"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every such setting."""
    for document, fact in context.repository.facts(Override):
        if fact.what == "cargo-source":
            yield finding(
                CODE,
                "warning",
                document,
                fact.at.span,
                fact.message,
                fix="remove the setting, or keep it out of the repository",
            )
