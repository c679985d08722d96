"""An image label that names another revision than any pin."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.compare import FULL
from harness.pins.findings import Edit, Finding, finding, place
from harness.pins.rules import Context
from harness.pins.text import UNRESOLVED

CODE = "label-off-pin"
SUMMARY = "a revision label differs from every pinned revision"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every literal revision label that no pin knows."""
    pins = context.pins
    pinned = [(pin.name, pin.revision) for pin in pins.pins if pin.revision is not None]
    if pins.source is not None:
        pinned.insert(0, ("source", pins.source.revision))
    if not pinned:
        return
    for document, claim in context.repository.claims():
        if claim.kind != "label" or UNRESOLVED in claim.text:
            continue
        if claim.text in [value.text for _, value in pinned]:
            continue
        # With one candidate the fixer knows what to write; with several it must not guess.
        name, value = pinned[0]
        certain = len(pinned) == 1 and bool(FULL.fullmatch(claim.text)) and claim.at.exact
        yield finding(
            CODE, "error", document, claim.at.span,
            f"{claim.how} is {claim.text[:12]}…, which is no pinned revision",
            expected=value.text, found=claim.text, related=[place(pins.document, value.span)],
            fix="harness pins sync" if certain else "write the revision, or use a build argument",
            pin=name,
            edit=Edit(document.path, claim.at.span, value.text) if certain else None,
            refusal=None if certain else "several pins have a revision",
        )  # fmt: skip
