"""A variable that beats the toolchain file."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.tokens import Override, ToolchainFile

CODE = "toolchain-overridden"
SUMMARY = "RUSTUP_TOOLCHAIN beats the toolchain file"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every override; one that agrees with the pin is only noted."""
    files = [
        fact for _, fact in context.repository.facts(ToolchainFile) if fact.toolchain == "rust"
    ]
    channels = {fact.channel.text for fact in files if fact.channel is not None}
    for document, fact in context.repository.facts(Override):
        if fact.what != "toolchain":
            continue
        status = context.status_at(document.path, fact.at.span)
        agrees = status == "agrees" or fact.at.text in channels or (status is None and not files)
        yield finding(
            CODE,
            "note" if agrees else "error",
            document,
            fact.at.span,
            fact.message,
            found=fact.at.text,
            fix="remove the variable: the toolchain file decides",
        )
