"""`harness pins explain NAME`: every place that names a thing, and how it was understood."""

from __future__ import annotations

from harness.errors import InputError
from harness.pins.compare import Judgement, judge_all
from harness.pins.config import Pin, Pins
from harness.pins.repository import Repository
from harness.pins.tokens import crate_id, distribution_id, image_id, repository_id


def explain(repository: Repository, name: str) -> str:
    """Return the pin and every place about `name`: a pin, or one of its subjects."""
    judgements = judge_all(repository)
    pins = [pin for pin in repository.pins.pins if pin.name == name] or _naming(
        repository.pins, name
    )
    if pins:
        chosen = [j for j in judgements if j.pin is not None and j.pin in pins]
    else:
        names = {name, name.lower(), crate_id(name), distribution_id(name), image_id(name)}
        names.add(repository_id(name))
        chosen = [j for j in judgements if j.claim.name in names or j.claim.repository in names]
    if not pins and not chosen:
        raise InputError(
            f"nothing is known about {name!r}",
            fix="name a pin, or a crate, distribution, image, action or build argument",
        )
    lines = [line for pin in pins for line in _pin(repository.pins, pin)]
    lines += _places(chosen) or ["  no place names it"]
    return "\n".join(lines) + "\n"


def _naming(pins: Pins, name: str) -> list[Pin]:
    spellings = {crate_id(name), distribution_id(name), image_id(name), name.lower(), name}
    return [pin for pin in pins.pins if any(subject in spellings for _, subject in pin.subjects())]


def _pin(pins: Pins, pin: Pin) -> list[str]:
    line, _ = pins.document.position(pin.at.span.start)
    lines = [f"pin {pin.name} ({pins.document.path}:{line})"]
    values = {
        "version": pin.version,
        "revision": pin.revision,
        "digest": pin.digest,
        "repository": pin.repository,
    }
    lines += [f"  {key} {value.text}" for key, value in values.items() if value is not None]
    subjects = ", ".join(f"{kind} {name}" for kind, name in pin.subjects())
    return [*lines, f"  about {subjects or 'nothing'}"]


def _places(judgements: list[Judgement]) -> list[str]:
    rows = []
    for judgement in sorted(judgements, key=lambda j: (j.document.path, j.at.span)):
        line, column = judgement.document.position(judgement.at.span.start)
        value = judgement.at.text.replace("\0", "…") or "-"
        place = f"{judgement.document.path}:{line}:{column}"
        rows.append((place, judgement.status, value, judgement.claim.how))
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    return [f"  {a:{widths[0]}}  {b:{widths[1]}}  {c:{widths[2]}}  {how}" for a, b, c, how in rows]
