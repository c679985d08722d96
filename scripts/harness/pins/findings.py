"""What the check reports, and how it points at places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness.pins.text import Document, Span

Severity = Literal["error", "warning", "note"]
ORDER = {"error": 0, "warning": 1, "note": 2}
SYNC = "harness pins sync"


class Edit(NamedTuple):
    """Bytes of a file to replace, and by what."""

    file: str
    span: Span
    text: str


class Related(NamedTuple):
    """Another place that takes part in a finding."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where, what was expected, and what fixes it."""

    code: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    expected: str | None = None
    found: str | None = None
    related: tuple[Related, ...] = ()
    fix: str | None = None
    # What it is about: the name of an image, a crate, an action …
    subject: str | None = None
    # For the fixer: which pin, what to write, why not, and whether a lock tool can.
    span: Span | None = None
    pin: str | None = None
    edit: Edit | None = None
    refusal: str | None = None
    relock: bool = False

    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        """Order by place, then by weight."""
        return (self.file, self.line, self.column, ORDER[self.severity], self.code, self.message)


def place(document: Document, span: Span) -> Related:
    """Return a place as file and line."""
    return Related(document.path, document.position(span.start)[0])


def finding(
    code: str,
    severity: Severity,
    document: Document,
    span: Span,
    message: str,
    *,
    expected: str | None = None,
    found: str | None = None,
    related: Iterable[Related] = (),
    fix: str | None = None,
    subject: str | None = None,
    pin: str | None = None,
    edit: Edit | None = None,
    refusal: str | None = None,
    relock: bool = False,
) -> Finding:
    """Make a finding that points at `span`."""
    line, column = document.position(span.start)
    return Finding(
        code, severity, document.path, line, column, message, expected, found, tuple(related), fix,
        subject, span, pin, edit, refusal, relock,
    )  # fmt: skip
