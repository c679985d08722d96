"""Moving a pin: the value in the pins file, and every place that follows from it."""

from __future__ import annotations

import re

from harness.errors import InputError
from harness.pins import versions
from harness.pins.config import DIGEST, REVISION, Pin
from harness.pins.findings import Edit
from harness.pins.repository import Repository
from harness.pins.text import Located


def edits(repository: Repository, name: str, values: list[str]) -> list[Edit]:
    """Return the edits of the pins file that give pin `name` its new values.

    A value says by its form what it is: a full commit id, a digest, or a version.
    """
    pin = repository.pins.find(name)
    found = []
    for value in values:
        kind, at = _slot(pin, value)
        if at is None:
            raise InputError(
                f"pin {name!r} has no {kind}",
                where=repository.pins.document.path,
                fix=f'add `{kind} = "{value}"` to it',
            )
        found.append(Edit(repository.pins.document.path, at.span, value))
    return found


def _slot(pin: Pin, value: str) -> tuple[str, Located | None]:
    if REVISION.fullmatch(value):
        return "revision", pin.revision
    if DIGEST.fullmatch(value):
        return "digest", pin.digest
    if versions.parse(value) is not None and not re.fullmatch(r"[0-9a-f]{7,}", value):
        return "version", pin.version
    raise InputError(
        f"{value!r} is no version, no full commit id (40 hex digits) and no digest (sha256:…)",
        where=f"pin {pin.name!r}",
        fix=f"a branch or a tag moves: git rev-parse '{value}^{{commit}}' says what it is now",
    )
