"""One changed value at a time: how a claim is put off its pin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.pins import config, record
from harness.pins.check import check
from harness.pins.compare import Judgement, judge_all
from harness.pins.findings import Finding
from harness.pins.repository import Repository


@dataclass(frozen=True)
class Mutant:
    """A file with one value changed."""

    judgement: Judgement
    data: bytes

    @property
    def file(self) -> str:
        return self.judgement.document.path

    @property
    def line(self) -> int:
        return self.judgement.document.position(self.judgement.at.span.start)[0]

    def __str__(self) -> str:
        claim = self.judgement.claim
        return f"{self.file}:{self.line} {claim.how}: {claim.name} {claim.text}"


def open_tree(root: Path) -> Repository:
    return Repository(root, config.load(root))


def pinned(repository: Repository) -> Iterator[Mutant]:
    """Yield a mutant of every claim that agrees with its pin.

    A thing that only its repository ties to the pin can't be told from another once that changes.
    """
    for judgement in judge_all(repository):
        claim, pin = judgement.claim, judgement.pin
        if pin is None or judgement.status != "agrees":
            continue
        if claim.aspect != "url" or (claim.kind, claim.name) in pin.subjects():
            yield mutate(judgement)


def required(repository: Repository) -> Iterator[Mutant]:
    """Yield a mutant of every unpinned requirement that a lock has to satisfy."""
    for judgement in judge_all(repository):
        claim = judgement.claim
        if judgement.pin is None and claim.aspect == "range" and not claim.derived:
            yield mutate(judgement)


def locked(repository: Repository, *paths: str) -> Iterator[Mutant]:
    """Yield a mutant of every unpinned line of compiled files that are layers of one another."""
    for judgement in judge_all(repository):
        claim = judgement.claim
        if judgement.pin is None and claim.locked and judgement.document.path in paths:
            yield mutate(judgement)


def recorded(repository: Repository) -> Iterator[Mutant]:
    """Yield a mutant of every value that no pin decides and pins.sum records."""
    for _, judgement in record.recorded(judge_all(repository)):
        yield mutate(judgement)


def mutate(judgement: Judgement) -> Mutant:
    """Change the value where it stands to one of the same kind that no pin has."""
    span = judgement.at.span
    data = judgement.document.data
    encoding = judgement.document.encoding
    old = data[span.start : span.end].decode(encoding)
    new = changed(old, judgement.claim.aspect)
    assert new != old
    return Mutant(judgement, data[: span.start] + new.encode(encoding) + data[span.end :])


def changed(old: str, aspect: str) -> str:
    """Return another value of the same form."""
    if aspect == "url":
        return old.replace("/o/", "/fork/") if "/o/" in old else f"{old}-fork"
    if aspect == "range":
        return re.sub(r"\d+(?:\.\d+)*(?:\.\*)?", "999", old) if re.search(r"\d", old) else "999"
    if match := re.fullmatch(r"(sha256:)?([0-9a-f]{40}|[0-9a-f]{64})", old):
        body = match[2]
        return (match[1] or "") + ("f" if body[0] != "f" else "e") * len(body)
    if match := re.fullmatch(r"py3(\d+)", old):
        return "py399"
    if not re.search(r"\d", old):
        return f"{old}987"
    return re.sub(r"\d+", "987", old, count=1)


def with_file(repository: Repository, path: str, data: bytes) -> Repository:
    """Return the repository with one file changed."""
    return Repository(repository.root, repository.pins, {path: data})


def caught(mutant: Mutant, findings: tuple[Finding, ...]) -> bool:
    """Say whether an error or a warning points at the changed value."""
    place = (mutant.file, mutant.line)
    return any(f.severity != "note" and (f.file, f.line) == place for f in findings)


def points_at(mutant: Mutant, findings: tuple[Finding, ...]) -> bool:
    """Say whether a finding in another file names the changed line as its reason."""
    return any(
        f.severity == "error" and (r.file, r.line) == (mutant.file, mutant.line)
        for f in findings
        for r in f.related
    )


def findings_of(repository: Repository) -> tuple[Finding, ...]:
    return check(repository).findings
