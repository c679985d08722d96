"""Cargo.lock, versions 1 to 4."""

from __future__ import annotations

import re
from typing import Literal

from harness.pins import toml
from harness.pins.readers import common
from harness.pins.text import Traced
from harness.pins.tokens import (
    Claim,
    LockPackage,
    Reading,
    UnusedPatch,
    crate_id,
    repository_id,
)

NAME = "cargo-lock"
_DEPENDENCY = re.compile(r"(\S+)(?: (\S+))?(?: \((\S+)\))?")
_GIT = re.compile(r"git\+([^?#]+)(?:\?([^#]*))?(?:#(.*))?")
_QUERY = re.compile(r"(?:^|&)(rev|branch|tag)=([^&]*)")


def read(reading: Reading) -> None:
    """Read one lock."""
    root = toml.parse(reading.document)
    checksummed: set[tuple[str, str]] = set()
    for package in root.tables("package"):
        _package(reading, package, checksummed)
    for package in root.tables("package"):
        for dependency in package.strings("dependencies"):
            _dependency(reading, package, dependency, checksummed)
    for unused in root.table("patch").tables("unused"):
        name = unused.string("name")
        if name is not None:
            at = reading.document.located(name)
            reading.facts.append(UnusedPatch(crate_id(name.text), at))


def _package(reading: Reading, package: toml.Table, checksummed: set[tuple[str, str]]) -> None:
    name, version = package.string("name"), package.string("version")
    if name is None or version is None:
        return
    document = reading.document
    source = package.string("source")
    crate = crate_id(name.text)
    kind: Literal["own", "registry", "git", "other"] = "own"
    repository = revision = None
    if source is not None:
        git = _GIT.fullmatch(source.text)
        kind = "git" if git else "registry" if source.text.startswith("registry+") else "other"
        if git is not None:
            repository = repository_id(git[1])
            revision = document.located(source.group(git, 3)) if git[3] else None
            _source(reading, crate, source, git)
    locked = "a registry package: its checksum belongs to the version"
    checksum = package.string("checksum")
    needs = sorted(text.text.split(" ")[0] for text in package.strings("dependencies"))
    parts = [source.text if source else "", checksum.text if checksum else "", *needs]
    if kind in ("registry", "other"):
        checksummed.add((crate, version.text))
    located = document.located(version)
    reading.claims.append(
        Claim(
            "crate", crate, "exact", located, "lock entry", "semver", derived=True,
            locked=locked if kind in ("registry", "other") else None, content=" ".join(parts),
        )
    )  # fmt: skip
    reading.facts.append(
        LockPackage(crate, located, document.located(name), "cargo", kind, repository, revision)
    )


def _source(reading: Reading, crate: str, source: Traced, git: re.Match[str]) -> None:
    url = source.group(git, 1)
    if git[3]:
        common.git_claims(
            reading, "crate", crate, url, source.group(git, 3), "lock entry", ref="rev",
            derived=True,
        )  # fmt: skip
    query = source.group(git, 2) if git[2] else source[:0]
    for match in _QUERY.finditer(query.text):
        if match[1] == "rev":
            common.git_claims(
                reading, "crate", crate, url, query.group(match, 2), "lock entry", ref="rev",
                derived=True,
            )  # fmt: skip


def _dependency(
    reading: Reading, package: toml.Table, text: Traced, checksummed: set[tuple[str, str]]
) -> None:
    """Read `name version (source)`, the long form that an ambiguous name needs."""
    match = _DEPENDENCY.fullmatch(text.text)
    if match is None or not match[2]:
        return
    crate = crate_id(match[1])
    version = reading.document.located(text.group(match, 2))
    locked = "a registry package" if (crate, match[2]) in checksummed else None
    how = "lock dependency"
    parent = package.string("name")
    reading.claims.append(
        Claim(
            "crate", crate, "exact", version, how, "semver", derived=True, locked=locked,
            content=parent.text if parent is not None else "",
        )
    )  # fmt: skip
    git = _GIT.fullmatch(match[3] or "")
    if git is not None:
        _source(reading, crate, text.group(match, 3), git)
