"""One repository under two references in the manifests of one lock."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.inheritance import workspace_of
from harness.pins.rules import Context
from harness.pins.text import Document, Located
from harness.pins.tokens import CargoDependency

CODE = "mixed-references"
SUMMARY = "one repository is referred to in two ways: two copies are built"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every reference that differs from the pinned (else the first) one."""
    groups: dict[tuple[str, str], list[tuple[Document, str, Located]]] = {}
    for document, fact in context.repository.facts(CargoDependency):
        if (
            fact.repository is None
            or fact.git is None
            or fact.table.startswith(("patch", "replace"))
        ):
            continue
        root = workspace_of(context.repository, document.path)
        owner = root.document.path if root is not None else document.path
        for kind, at in fact.references or (("default branch", fact.git),):
            text = f"{kind} {at.text}" if fact.references else kind
            groups.setdefault((owner, fact.repository), []).append((document, text, at))
    for (_, repository), places in groups.items():
        places.sort(key=lambda item: context.status_at(item[0].path, item[2].span) != "agrees")
        known = places[0]
        for document, text, at in places[1:]:
            if text != known[1]:
                yield finding(
                    CODE,
                    "error",
                    document,
                    at.span,
                    f"{repository} is taken from {text} here and from {known[1]} elsewhere",
                    expected=known[1],
                    found=text,
                    related=[place(known[0], known[2].span)],
                    fix="name the same rev everywhere",
                )
