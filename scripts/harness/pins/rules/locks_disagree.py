"""One distribution locked at two versions in files that are layers of one another."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import versions
from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.rules.lock_behind_input import FIX, inputs_of, wanted_by
from harness.pins.text import Document
from harness.pins.tokens import Requirement, RequirementFile

CODE = "locks-disagree"
SUMMARY = "two compiled files lock one distribution at two versions"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding in the wider file: the one whose inputs include those of the other."""
    compiled = [
        (document, inputs)
        for document, fact in context.repository.facts(RequirementFile)
        if (inputs := inputs_of(context, document, fact))
    ]
    covered = {
        document.path: {source.path for source, _ in wanted_by(context, inputs)}
        for document, inputs in compiled
    }
    for document, _ in compiled:
        for narrow, inputs in compiled:
            named = {reading.document.path for reading in inputs}
            if narrow is not document and named <= covered[document.path]:
                yield from _compare(context, document, narrow)


def _compare(context: Context, document: Document, narrow: Document) -> Iterator[Finding]:
    locked = {fact.name: fact for fact in _requirements(context, document)}
    for fact in _requirements(context, narrow):
        other = locked.get(fact.name)
        left, right = fact.specifier.lstrip("= "), other.specifier.lstrip("= ") if other else ""
        if other is not None and not versions.equal(right, left):
            yield finding(
                CODE,
                "error",
                document,
                other.at.span,
                f"{fact.name} is locked at {right} here and at {left} in {narrow.path}",
                expected=left,
                found=right,
                related=[place(narrow, fact.at.span)],
                fix=FIX,
            )


def _requirements(context: Context, document: Document) -> list[Requirement]:
    reading = context.repository.by_path[document.path]
    return [fact for fact in reading.facts if isinstance(fact, Requirement)]
