"""Rules: one code each, in a file of its own.

A rule module has `CODE`, `SUMMARY` and `check(context)`, which yields findings. A rule sees claims,
facts and faults, never file formats. Each code has a section in docs/findings.md and planted faults
in tests/harness/pins/cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from types import ModuleType

from harness.pins.catalogue import NAMES
from harness.pins.compare import Judgement, judge_all
from harness.pins.config import Allow
from harness.pins.findings import Edit, Finding, Related, place
from harness.pins.repository import Repository
from harness.pins.text import Span


class Context:
    """What a rule may look at."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.pins = repository.pins
        # Findings of the rules that ran before; the last rules look at them.
        self.findings: list[Finding] = []
        self.used_allowances: set[Allow] = set()

    @cached_property
    def judgements(self) -> list[Judgement]:
        """Every claim held against its pins."""
        return judge_all(self.repository)

    def of_status(self, status: str, what: str | None = None) -> Iterator[Judgement]:
        """Yield the judgements of a status about pinned things."""
        for judgement in self.judgements:
            wanted = what is None or judgement.what == what
            if wanted and judgement.status == status and judgement.pin is not None:
                yield judgement

    @cached_property
    def _statuses(self) -> dict[tuple[str, Span], str]:
        found: dict[tuple[str, Span], str] = {}
        for judgement in self.judgements:
            key = (judgement.document.path, judgement.at.span)
            if judgement.pin is not None and found.get(key) in (None, "agrees"):
                found[key] = judgement.status
        return found

    def status_at(self, path: str, span: Span) -> str | None:
        """Return how the value at a place stands to its pin; None where nothing pins it."""
        return self._statuses.get((path, span))

    def pin_place(self, judgement: Judgement) -> tuple[Related, ...]:
        """Return where the pin says what it says."""
        pin = judgement.pin
        if pin is None:
            return ()
        values = {
            "version": pin.version,
            "revision": pin.revision,
            "digest": pin.digest,
            "repository": pin.repository,
        }
        at = values.get(judgement.what) or pin.at
        return (place(self.pins.document, at.span),)


def off_pin(context: Context, code: str, judgement: Judgement, message: str) -> Finding:
    """Make the finding of a value that differs from its pin, with the edit that aligns it."""
    from harness.pins.findings import SYNC, finding

    claim, pin = judgement.claim, judgement.pin
    assert pin is not None
    edit = None
    refusal = claim.locked or claim.by_hand
    if refusal is None and judgement.new is None:
        refusal = "only you can decide what to write here"
        if judgement.status == "off":
            refusal = "spelled in a way that could not be written back"
    if refusal is None and not judgement.at.exact:
        refusal = "the value is put together from several places"
    if refusal is None and judgement.new is not None:
        edit = Edit(judgement.document.path, judgement.at.span, judgement.new)
    fix = SYNC if edit is not None else f"by hand: write {judgement.expected} ({refusal})"
    if claim.locked:
        fix = "lock it again: harness pins lock"
    return finding(
        code, "error", judgement.document, judgement.at.span, message,
        expected=judgement.expected, found=judgement.at.text,
        related=context.pin_place(judgement), fix=fix, subject=claim.name, pin=pin.name, edit=edit,
        refusal=refusal, relock=claim.locked is not None,
    )  # fmt: skip


def modules() -> list[ModuleType]:
    """Return every rule, in order."""
    return [import_module(f"harness.pins.rules.{name}") for name in NAMES]
