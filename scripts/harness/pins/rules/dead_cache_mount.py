"""A cache mount in a place that the tool does not use."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.tokens import CacheMount

CODE = "dead-cache-mount"
SUMMARY = "a cache mount can never hit"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every mount that stays empty."""
    for document, fact in context.repository.facts(CacheMount):
        if fact.reason is not None:
            yield finding(
                CODE,
                "warning",
                document,
                fact.at,
                f"the cache at {fact.target} stays empty: {fact.reason}",
                fix="mount the folder that the tool writes to",
            )
