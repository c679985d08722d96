"""A version that no pin decides, and that is not the one that the last locking recorded."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import record
from harness.pins.compare import Judgement
from harness.pins.findings import SYNC, Edit, Finding, Related, finding
from harness.pins.record import Record
from harness.pins.rules import Context
from harness.pins.text import Document, Span

CODE = "off-record"
SUMMARY = "an unpinned version differs from what pins.sum records"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every place that is not recorded, and for what is recorded in vain."""
    rows = record.read(context.repository)
    if rows is None:
        return
    left: dict[tuple[str, str, str], list[Record]] = {}
    digests = {row.digest for row in rows}
    present = record.recorded(context.judgements)
    seen = {now.digest for now, _ in present}
    for row in rows:
        if row.digest not in seen:
            left.setdefault(row.thing, []).append(row)
    for now, judgement in present:
        if now.digest not in digests:
            yield _moved(context, judgement, now, left.get(now.thing, []))
    decided = {
        (j.document.path, j.claim.kind, j.claim.name)
        for j in context.judgements
        if j.pin is not None
    }
    for row in (row for rows in left.values() for row in rows):
        if row.thing not in decided:
            yield _gone(context, row)


def _moved(context: Context, judgement: Judgement, now: Record, left: list[Record]) -> Finding:
    """Where the digest proves which value belongs here, the fixer can put it back."""
    claim, document = judgement.claim, judgement.document
    proven = [r for r in left if record.of(document.path, claim, r.value).digest == r.digest]
    before = next(iter(proven or left), None)
    if before is not None:
        left.remove(before)
    what = f"{claim.how}: {claim.name} {now.value}"
    if before is None:
        message = f"{what} is not recorded"
    elif before.value == now.value:
        message = f"{what}: its hashes, source or dependencies differ from the record"
    else:
        message = f"{what}, recorded is {before.value}"
    edit = None
    if proven and judgement.at.exact and claim.aspect != "name":
        edit = Edit(document.path, judgement.at.span, proven[0].value)
    return finding(
        CODE, "error", document, judgement.at.span, message,
        expected=before.value if before is not None else None, found=now.value,
        related=[Related(record.path_of(context.pins), before.line)] if before is not None else [],
        fix=f"{SYNC}, or {record.FIX}" if edit is not None else record.FIX, subject=claim.name,
        edit=edit, refusal=None if edit is not None else "no recorded value fits here",
    )  # fmt: skip


def _gone(context: Context, row: Record) -> Finding:
    path = record.path_of(context.pins)
    document = Document(path, context.repository.data(path) or b"")
    start = document.data.find(row.digest.encode())
    return finding(
        CODE, "error", document, Span(start, start + 16),
        f"{row.name} {row.value} is recorded for {row.file}, and gone from there",
        found=row.value, fix=record.FIX, subject=row.name,
        refusal="only you can decide whether it may go",
    )  # fmt: skip
