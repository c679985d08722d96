"""A pinned thing whose value only the build knows."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context

CODE = "unresolved-value"
SUMMARY = "a value comes from outside the file: it can't be compared"


def check(context: Context) -> Iterator[Finding]:
    """Yield a note (a warning in manifests) for every value that is not known offline."""
    for judgement in context.of_status("unresolved"):
        claim = judgement.claim
        severity = "warning" if claim.scope is not None else "note"
        text = claim.text.replace("\0", "…") or "its value"
        yield finding(
            CODE, severity, judgement.document, judgement.at.span,  # type: ignore[arg-type]
            f"{claim.how}: {claim.name} is {text}, which only the build knows",
            expected=judgement.expected, fix="write the pinned value, or a default",
            related=context.pin_place(judgement), pin=judgement.pin.name if judgement.pin else None,
        )  # fmt: skip
