"""Two toolchain files in one folder: the older form wins."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.text import Document, Span
from harness.pins.tokens import ToolchainFile

CODE = "toolchain-shadowed"
SUMMARY = "rust-toolchain beside rust-toolchain.toml: the latter is not read"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every rust-toolchain.toml that rustup does not read."""
    legacy: dict[str, Document] = {}
    found = list(context.repository.facts(ToolchainFile))
    for document, fact in found:
        if fact.legacy:
            legacy[document.path.rpartition("/")[0]] = document
    for document, fact in found:
        other = legacy.get(document.path.rpartition("/")[0])
        if fact.toolchain != "rust" or fact.legacy or other is None:
            continue
        span = fact.channel.span if fact.channel is not None else Span(0, 0)
        yield finding(
            CODE,
            "warning",
            document,
            span,
            f"rustup reads {other.path} and never this file",
            related=[place(other, Span(0, 0))],
            fix=f"remove {other.path}",
        )
