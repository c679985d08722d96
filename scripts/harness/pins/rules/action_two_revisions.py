"""One action at two revisions."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.text import UNRESOLVED, Document
from harness.pins.tokens import Claim

CODE = "action-two-revisions"
SUMMARY = "one action is used at two revisions"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every use that differs from the first (or from the pin)."""
    uses: dict[str, list[tuple[Document, Claim]]] = {}
    for document, claim in context.repository.claims():
        if claim.kind == "action" and claim.text and UNRESOLVED not in claim.text:
            uses.setdefault(claim.name, []).append((document, claim))
    for name, places in uses.items():
        places.sort(key=lambda item: context.status_at(item[0].path, item[1].at.span) != "agrees")
        known = places[0]
        for document, claim in places[1:]:
            if claim.text != known[1].text:
                yield finding(
                    CODE,
                    "error",
                    document,
                    claim.at.span,
                    f"{name} is at {claim.text[:12]} here and at {known[1].text[:12]} elsewhere",
                    expected=known[1].text,
                    found=claim.text,
                    related=[place(known[0], known[1].at.span)],
                    fix="use one revision",
                )
