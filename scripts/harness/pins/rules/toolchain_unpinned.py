"""A toolchain file that chooses no toolchain."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.text import Span
from harness.pins.tokens import ToolchainFile

CODE = "toolchain-unpinned"
SUMMARY = "a toolchain file has no channel: it pins nothing"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every toolchain file without a channel."""
    for document, fact in context.repository.facts(ToolchainFile):
        if fact.channel is None:
            yield finding(
                CODE,
                "error",
                document,
                Span(0, 0),
                "this file names no channel, so whatever is the default is used",
                fix='add `channel = "…"` under [toolchain]',
            )
