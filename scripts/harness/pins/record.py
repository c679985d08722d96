"""pins.sum, beside the pins file: every value that no pin decides, as the last locking left it.

One line for each: a digest of the place, its value and what belongs to it (hashes, source,
dependencies); the file; the kind; the name; the value. Thus a changed lock entry is found where it
stands, and what it was is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from harness.errors import InputError
from harness.pins.compare import Judgement, judge_all
from harness.pins.config import Pins
from harness.pins.repository import Repository
from harness.pins.text import UNRESOLVED
from harness.pins.tokens import Claim

FIX = "harness pins lock (or, to accept what is there: harness pins lock --record)"
_HEAD = "# Every version that no pin decides. Written by `harness pins lock`.\n"
# What these mean depends on the pin that names them; without one they are no versions.
_KINDS_WITHOUT = ("build-arg", "label")


class Record(NamedTuple):
    """One line of pins.sum."""

    digest: str
    file: str
    kind: str
    name: str
    value: str
    line: int = 0

    @property
    def thing(self) -> tuple[str, str, str]:
        """What it is about, and where."""
        return (self.file, self.kind, self.name)


def path_of(pins: Pins) -> str:
    """Return the path of the record that belongs to a pins file."""
    return pins.document.path.removesuffix(".toml") + ".sum"


def of(file: str, claim: Claim, value: str) -> Record:
    """Return what is recorded of a claim if it has this value."""
    name = claim.name if " " not in claim.name else claim.name.replace(" ", "_")
    parts = (file, claim.kind, claim.aspect, name, value, claim.marker, claim.content)
    digest = sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Record(digest, file, claim.kind, name, value)


def recorded(judgements: Iterable[Judgement]) -> list[tuple[Record, Judgement]]:
    """Return what belongs into the record, and where it stands."""
    return [
        (of(judgement.document.path, judgement.claim, judgement.at.text), judgement)
        for judgement in judgements
        if judgement.pin is None
        and judgement.claim.kind not in _KINDS_WITHOUT
        and UNRESOLVED not in judgement.at.text
        and UNRESOLVED not in judgement.claim.name
    ]


def read(repository: Repository) -> list[Record] | None:
    """Return the record of a repository, or None where it keeps none."""
    path = path_of(repository.pins)
    data = repository.data(path)
    if data is None:
        return None
    found = []
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").splitlines(), 1):
        if not line.startswith("#"):
            words = line.split(" ", 4)
            if len(words) != 5 or len(words[0]) != 16:
                raise InputError(
                    "expected DIGEST FILE KIND NAME VALUE",
                    where=f"{path}:{number}",
                    fix="harness pins lock --record",
                )
            digest, file, kind, name, value = words
            # A space in a file's name would end it.
            found.append(Record(digest, file.replace("%20", " "), kind, name, value, number))
    return found


def render(repository: Repository) -> str:
    """Return the record of what is there now."""
    rows = {record[:5] for record, _ in recorded(judge_all(repository))}
    lines = [
        f"{digest} {file.replace(' ', '%20')} {kind} {name} {value}\n"
        for digest, file, kind, name, value in sorted(rows, key=lambda row: (row[1:], row[0]))
    ]
    return _HEAD + "".join(lines)
