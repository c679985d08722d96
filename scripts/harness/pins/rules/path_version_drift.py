"""A version requirement on a package of this repository that has another version."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import versions
from harness.pins.findings import Finding, finding, place
from harness.pins.inheritance import crate_version, version_of
from harness.pins.readers.common import relative
from harness.pins.rules import Context
from harness.pins.text import Document, Located
from harness.pins.tokens import CargoDependency, Project

CODE = "path-version-drift"
SUMMARY = "a requirement on a package of this repository does not admit its version"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every requirement that the sibling does not satisfy."""
    yield from _crates(context)
    yield from _distributions(context)


def _crates(context: Context) -> Iterator[Finding]:
    repository = context.repository
    for document, fact in repository.facts(CargoDependency):
        if fact.path is None or fact.requirement is None:
            continue
        target = relative(document.path, f"{fact.path.text}/Cargo.toml")
        reading = repository.by_path.get(target or "")
        version = version_of(repository, reading) if reading is not None else None
        if (
            version is None
            or versions.admits_cargo(fact.requirement.text, version[1].text) is not False
        ):
            continue
        yield _finding(document, fact.name, fact.requirement, version[0].document, version[1])


def _distributions(context: Context) -> Iterator[Finding]:
    repository = context.repository
    own: dict[str, tuple[Document, Located]] = {}
    for document, project in repository.facts(Project):
        crate = crate_version(repository, document, project)
        if project.version is not None:
            own[project.name] = (document, project.version)
        elif crate is not None:
            own[project.name] = crate
    for judgement in context.judgements:
        claim = judgement.claim
        known = own.get(claim.name)
        if (
            claim.kind != "distribution"
            or claim.derived
            or known is None
            or judgement.pin is not None
        ):
            continue
        if claim.aspect not in ("exact", "range") or claim.at == known[1]:
            continue
        good = (
            versions.equal(claim.text, known[1].text)
            if claim.aspect == "exact"
            else versions.admits(claim.text, known[1].text)
        )
        if good is False:
            yield _finding(judgement.document, claim.name, claim.at, *known)


def _finding(
    document: Document, name: str, at: Located, other: Document, version: Located
) -> Finding:
    return finding(
        CODE,
        "error",
        document,
        at.span,
        f"{name} is {version.text} in this repository, and {at.text} is asked for",
        expected=version.text,
        found=at.text,
        related=[place(other, version.span)],
        fix=f"write {version.text}",
    )
