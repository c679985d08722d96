"""Files or groups that include each other."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.rules.faults import faults_of
from harness.pins.tokens import RequirementFile

CODE = "include-cycle"
SUMMARY = "requirement files or dependency groups include each other"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every include that closes a circle."""
    yield from faults_of(context, CODE)
    files = list(context.repository.facts(RequirementFile))
    # A circle is blamed on what leads back to a file that stands for itself.
    files.sort(key=lambda item: not item[1].named)
    edges = {document.path: (document, fact.includes) for document, fact in files}
    done: set[str] = set()

    def visit(path: str, above: tuple[str, ...]) -> Iterator[Finding]:
        document, includes = edges[path]
        for target, at in includes:
            if target in (*above, path):
                circle = [*(*above, path)[(*above, path).index(target) :], target]
                yield finding(
                    CODE,
                    "error",
                    document,
                    at.span,
                    f"requirement files include each other: {' -> '.join(circle)}",
                    found=target,
                    fix="remove one of the includes",
                )
            elif target in edges and target not in done:
                yield from visit(target, (*above, path))
        done.add(path)

    for path in edges:
        if path not in done:
            yield from visit(path, ())
