"""A commit id in the text of the repository that belongs to no pin."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.record import path_of
from harness.pins.rules import Context
from harness.pins.scan import revisions
from harness.pins.text import Document, Span

CODE = "unknown-revision"
SUMMARY = "a 40-digit revision belongs to no pin"


MOST = 20


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every unknown revision, as strict as `[policy] unknown-revisions`.

    Values that another rule reported already, and the pins file itself, are left out.
    """
    pins = context.pins
    severity = pins.policy.unknown_revisions
    if severity == "off":
        return
    known = {pin.revision.text for pin in pins.pins if pin.revision is not None}
    if pins.source is not None:
        known |= {pins.source.revision.text, pins.source.tree.text}
    reported = {(f.file, f.span.start) for f in context.findings if f.span is not None}
    for path, data in context.repository.texts():
        if path in (pins.document.path, path_of(pins)):
            continue
        document = None
        count = 0
        for start, text in revisions(data):
            if text in known or (path, start) in reported:
                continue
            document = document or Document(path, data)
            count += 1
            more = "; more of them follow in this file" if count == MOST else ""
            yield finding(
                CODE,
                severity,
                document,
                Span(start, start + 40),
                f"{text[:12]}… belongs to no pin{more}",
                found=text,
                fix="pin what it is, or exclude the file in [policy]",
            )
            if count == MOST:
                break
