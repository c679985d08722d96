"""The fixer: it replaces spans, looks at the result, and only then writes: all files or none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.errors import InputError
from harness.pins import config
from harness.pins.check import check
from harness.pins.findings import Edit, Finding
from harness.pins.repository import Repository
from harness.pins.text import Document

MAX_ROUNDS = 5


@dataclass(slots=True)
class Plan:
    """What would be written, and what the fixer refuses to decide."""

    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    edits: list[tuple[Edit, int, str]] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)

    def changed(self) -> dict[str, bytes]:
        """Return the files whose bytes differ from what is there."""
        return {path: data for path, data in self.after.items() if data != self.before[path]}


def replace(document: Document, edits: Iterable[Edit]) -> bytes:
    """Return the bytes of a file with spans replaced; two edits of one span must agree."""
    data = document.data
    chosen: dict[tuple[int, int], str] = {}
    for edit in edits:
        key = (edit.span.start, edit.span.end)
        if chosen.setdefault(key, edit.text) != edit.text:
            line, _ = document.position(edit.span.start)
            raise InputError(
                f"two pins want two values here: {chosen[key]} and {edit.text}",
                where=f"{document.path}:{line}",
                fix="let one pin name what stands here",
            )
    out = []
    at = 0
    for start, end in sorted(chosen):
        if start < at:
            raise InputError("two edits overlap", where=document.path)
        out += [data[at:start], document.encode(chosen[start, end])]
        at = end
    return b"".join([*out, data[at:]])


def plan(repository: Repository, extra: Iterable[Edit] = ()) -> Plan:
    """Return what aligns every place with its pin.

    Args:
        repository: As it is now.
        extra: Edits to make first (a pin that moves); the rest follows from them.
    """
    result = Plan()
    pending = list(extra)
    pins = repository.pins
    current = repository
    for _ in range(MAX_ROUNDS):
        if not pending:
            report = check(current)
            pending = [f.edit for f in report.findings if f.edit is not None]
            result.refused = [
                f
                for f in report.findings
                if f.refusal is not None and f.edit is None and f.severity == "error"
            ]
            if not pending:
                return result
        apply(current, pending, result)
        pending = []
        overlay = dict(result.after)
        if pins.document.path in overlay:
            pins = config.parse(Document(pins.document.path, overlay[pins.document.path]))
        current = Repository(repository.root, pins, overlay)
    raise InputError("the pins contradict each other: aligning one place moves another")


def apply(repository: Repository, edits: Iterable[Edit], result: Plan) -> None:
    """Add edits of the repository's files (the pins file is one) to a plan."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.file, []).append(edit)
    for path, some in by_file.items():
        if path == repository.pins.document.path:
            data: bytes | None = repository.pins.document.data
        else:
            data = repository.data(path)
        assert data is not None
        document = Document(path, data)
        result.before.setdefault(path, data)
        for edit in sorted(set(some), key=lambda item: item.span):
            old = data[edit.span.start : edit.span.end].decode(document.encoding, "replace")
            result.edits.append((edit, document.position(edit.span.start)[0], old))
        result.after[path] = replace(document, some)


def unified_diff(plan: Plan) -> str:
    """Return the plan as a unified diff."""
    parts = []
    for path in sorted(plan.changed()):
        before, after = Document(path, plan.before[path]), Document(path, plan.after[path])
        lines = difflib.unified_diff(
            _lines(before), _lines(after), f"a/{path}", f"b/{path}", lineterm="\n"
        )
        for line in lines:
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(document: Document) -> list[str]:
    return (
        document.text.splitlines(keepends=True)
        if document.text.isascii()
        else [f"{line}\n" for line in document.text.removesuffix("\n").split("\n")]
    )
