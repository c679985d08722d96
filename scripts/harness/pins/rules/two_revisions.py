"""One repository at two revisions in one lock: no build tool refuses that."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.tokens import LockPackage

CODE = "two-revisions"
SUMMARY = "one lock holds one repository at two revisions"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every entry that differs from the pinned (else the first) revision."""
    for reading in context.repository.readings:
        groups: dict[str, list[LockPackage]] = {}
        for fact in reading.facts:
            if isinstance(fact, LockPackage) and fact.repository and fact.revision is not None:
                groups.setdefault(fact.repository, []).append(fact)
        path = reading.document.path
        for repository, packages in groups.items():
            located = [(p, p.revision) for p in packages if p.revision is not None]
            located.sort(key=lambda item: context.status_at(path, item[1].span) != "agrees")
            known = located[0][1]
            for package, revision in located[1:]:
                if revision.text != known.text:
                    yield finding(
                        CODE,
                        "error",
                        reading.document,
                        revision.span,
                        f"{package.name} is at {revision.text[:12]}… of {repository}, "
                        f"{located[0][0].name} at {known.text[:12]}…",
                        expected=known.text,
                        found=revision.text,
                        related=[place(reading.document, known.span)],
                        fix="name one rev in every manifest and lock again",
                    )
