"""One thing pinned twice in one list, with two values."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import versions
from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.text import Document
from harness.pins.tokens import Claim

CODE = "double-pin"
SUMMARY = "one list names one thing twice, with two values"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at the later of two contradicting claims of one scope."""
    seen: dict[tuple[str, str, str, str], tuple[Document, Claim]] = {}
    for document, claim in context.repository.claims():
        if claim.scope is None or claim.kind != "distribution" or claim.derived:
            continue
        if claim.aspect not in ("exact", "revision"):
            continue
        key = (claim.scope, claim.kind, claim.name, f"{claim.aspect} {claim.marker}")
        first = seen.setdefault(key, (document, claim))
        if first[1] is claim:
            continue
        same = claim.text == first[1].text or (
            claim.aspect == "exact" and versions.equal(claim.text, first[1].text)
        )
        text = f"{claim.name} is pinned twice here: {first[1].text} and {claim.text}"
        yield finding(
            CODE, "note" if same else "error", document, claim.at.span, text,
            expected=first[1].text, found=claim.text, related=[place(first[0], first[1].at.span)],
            fix="keep one of the two lines",
        )  # fmt: skip
