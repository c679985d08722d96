"""A name that was given up and came back."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.tokens import Mention, distribution_id

CODE = "retired-name"
SUMMARY = "a retired distribution, crate, feature or import name is used"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every use of a retired name."""
    retired = {distribution_id(item.text): item for item in context.pins.policy.retired}
    if not retired:
        return
    uses = [
        (document, claim.name, claim.at, claim.kind)
        for document, claim in context.repository.claims()
        if claim.kind in ("crate", "distribution")
    ]
    uses += [
        (document, fact.name, fact.at, fact.what)  # type: ignore[misc]
        for document, fact in context.repository.facts(Mention)
    ]
    for document, name, at, what in uses:
        item = retired.get(distribution_id(name))
        if item is not None:
            yield finding(
                CODE,
                "error",
                document,
                at.span,
                f"{what} {name} is retired",
                found=name,
                related=[place(context.pins.document, item.span)],
                fix="use its successor",
            )
