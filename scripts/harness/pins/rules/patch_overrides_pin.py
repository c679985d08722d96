"""A patch that takes a pinned crate from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.compare import Judge
from harness.pins.config import Pin
from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.tokens import CargoDependency, repository_id

CODE = "patch-overrides-pin"
SUMMARY = "[patch] takes a pinned crate from another place"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every patch of a pinned crate that does not lead to the pin."""
    judge = Judge(context.pins)
    for document, fact in context.repository.facts(CargoDependency):
        if not fact.table.startswith("patch."):
            continue
        pin = _pin(judge, fact)
        if pin is None or _leads_to(fact, pin):
            continue
        expected = pin.revision or pin.version or pin.at
        yield finding(
            CODE,
            "error",
            document,
            fact.at.span,
            f"[{fact.table}] {fact.name} overrides pin {pin.name!r}",
            expected=expected.text,
            related=[place(context.pins.document, expected.span)],
            fix="remove the patch, or move the pin to what it names",
            pin=pin.name,
        )


def _pin(judge: Judge, fact: CargoDependency) -> Pin | None:
    """Return the pin of the crate, or of the repository that is patched."""
    source = ("repository", repository_id(fact.table.removeprefix("patch.")))
    found = judge.index.get(("crate", fact.name)) or judge.index.get(source)
    return found[0] if found else None


def _leads_to(fact: CargoDependency, pin: Pin) -> bool:
    if pin.revision is None or fact.path is not None:
        return False
    return [(kind, at.text) for kind, at in fact.references] == [("rev", pin.revision.text)]
