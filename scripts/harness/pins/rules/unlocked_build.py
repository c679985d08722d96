"""A build in an image that may rewrite its lock."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.tokens import Override

CODE = "unlocked-build"
SUMMARY = "cargo builds in an image without --locked"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every such setting."""
    for document, fact in context.repository.facts(Override):
        if fact.what == "unlocked-build":
            yield finding(CODE, "error", document, fact.at.span, fact.message, fix="add --locked")
