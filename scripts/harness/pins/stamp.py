"""Development versions: `0.13.0.dev20261130` and `0.13.0-dev.20261130`, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from harness.errors import InputError
from harness.pins import versions
from harness.pins.findings import Edit
from harness.pins.repository import Repository
from harness.pins.text import Document, Located
from harness.pins.tokens import (
    CargoPackage,
    LockPackage,
    Project,
    crate_id,
    distribution_id,
)

# A date, and possibly the number of a run after it.
_DATE = re.compile(r"\d{8}(?:\d{1,10})?")


def edits(repository: Repository, date: str | None) -> list[Edit]:
    """Return the edits that stamp our own packages with `date`, or (None) take the stamp away.

    Our own packages are those that the repository declares; where pins name some of them, those.
    Their lock entries, their pins and the exact requirements between them follow. A package of
    somebody else is left alone, whatever its version.
    """
    if date is not None and not _DATE.fullmatch(date):
        raise InputError(f"{date!r} is no date", fix="write it as YYYYMMDD")
    found = []
    for document, at, grammar in _places(repository):
        new = _stamped(document, at, grammar, date)
        if new != at.text:
            found.append(Edit(document.path, at.span, new))
    return found


def _stamped(document: Document, at: Located, grammar: str, date: str | None) -> str:
    where = f"{document.path}:{document.position(at.span.start)[0]}"
    version = versions.parse(at.text)
    if version is None:
        raise InputError(f"{at.text!r} is no version", where=where)
    if version.dev is not None and not _DATE.fullmatch(str(version.dev)):
        raise InputError(f"{at.text} is a development version already, and no stamp", where=where)
    base = Version(re.sub(r"\.?dev\d+", "", str(version)))
    wanted = f"{base}.dev{date}" if date is not None else str(base)
    plain = versions.respell(at.text, str(base), grammar)
    new = versions.respell(at.text, wanted, grammar)
    if plain is None or new is None or not at.exact:
        raise InputError(
            f"{at.text} is spelled in a way that could not be restored",
            where=where,
            fix=f"write {versions.spell_semver(base) if grammar == 'semver' else base}",
        )
    return new


def _places(repository: Repository) -> Iterator[tuple[Document, Located, str]]:
    """Yield every place where a version of ours stands, once."""
    crates, distributions = _own(repository)
    seen: set[tuple[str, int]] = set()
    for document, at, grammar in _candidates(repository, crates, distributions):
        key = (document.path, at.span.start)
        if key not in seen:
            seen.add(key)
            yield document, at, grammar


def _candidates(
    repository: Repository, crates: set[str], distributions: set[str]
) -> Iterator[tuple[Document, Located, str]]:
    for pin in repository.pins.pins:
        names = {crate_id(name) for name in pin.crates} & crates
        names |= {distribution_id(name) for name in pin.distributions} & distributions
        if names and pin.version is not None:
            grammar = "semver" if "-" in pin.version.text else "pep440"
            yield repository.pins.document, pin.version, grammar
    for reading in repository.readings:
        others = {
            (fact.name, fact.version.span)
            for fact in reading.facts
            if isinstance(fact, LockPackage) and fact.source != "own"
        }
        for claim in reading.claims:
            own = crates if claim.kind == "crate" else distributions
            if claim.kind not in ("crate", "distribution") or claim.name not in own:
                continue
            if claim.locked or (claim.name, claim.at.span) in others or claim.repository:
                continue
            whole = re.fullmatch(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?", claim.text)
            if claim.aspect == "exact" or (claim.aspect == "range" and whole):
                grammar = "semver" if claim.kind == "crate" else "pep440"
                yield reading.document, claim.at, grammar


def _own(repository: Repository) -> tuple[set[str], set[str]]:
    """Return the crates and distributions that are stamped."""
    crates = {fact.name for _, fact in repository.facts(CargoPackage)}
    distributions = {fact.name for _, fact in repository.facts(Project)}
    pinned_crates = {crate_id(name) for pin in repository.pins.pins for name in pin.crates}
    pinned = {distribution_id(name) for pin in repository.pins.pins for name in pin.distributions}
    if crates & pinned_crates or distributions & pinned:
        return crates & pinned_crates, distributions & pinned
    return crates, distributions
