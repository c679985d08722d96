"""A version comment beside an action that is not what the pin says."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import versions
from harness.pins.findings import SYNC, Edit, Finding, finding, place
from harness.pins.rules import Context

CODE = "action-comment"
SUMMARY = "the version comment of an action contradicts its pin"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every comment that lies; one that is not exact is noted."""
    for judgement in context.judgements:
        claim, pin = judgement.claim, judgement.pin
        comment = claim.comment
        if claim.kind != "action" or comment is None or pin is None or pin.version is None:
            continue
        if pin.revision is None:
            continue
        parsed = versions.parse(comment.text)
        exact = parsed is not None and versions.equal(comment.text, pin.version.text)
        if exact:
            continue
        loose = parsed is not None and versions.prefix_agrees(comment.text, pin.version.text)
        wanted = "v" + pin.version.text if comment.text.startswith("v") else pin.version.text
        yield finding(
            CODE,
            "note" if loose else "error",
            judgement.document,
            comment.span,
            f"the comment says {comment.text}, pin {pin.name!r} says {pin.version.text}",
            expected=wanted,
            found=comment.text,
            related=[place(context.pins.document, pin.version.span)],
            fix=SYNC if not loose else f"write {wanted}",
            pin=pin.name,
            edit=None if loose else Edit(judgement.document.path, comment.span, wanted),
        )
