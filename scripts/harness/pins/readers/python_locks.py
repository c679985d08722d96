"""uv.lock and poetry.lock."""

from __future__ import annotations

import re
from typing import Literal

from harness.pins import toml
from harness.pins.readers import common
from harness.pins.text import Traced
from harness.pins.tokens import Claim, LockPackage, Reading, distribution_id, repository_id

NAME = "python-lock"
_QUERY = re.compile(r"(?:^|&)(rev|branch|tag)=([^&#]*)")
_OWN = ("editable", "virtual", "directory", "path")


def read(reading: Reading) -> None:
    """Read one lock."""
    root = toml.parse(reading.document)
    for package in root.tables("package"):
        _package(reading, package)
    wanted = root.string("requires-python") or root.table("metadata").string("python-versions")
    if wanted is not None:
        at = reading.document.located(wanted)
        how = "lock requires-python"
        reading.claims.append(
            Claim("toolchain", "python", "range", at, how, "pep440", derived=True)
        )


def _package(reading: Reading, package: toml.Table) -> None:
    name = package.string("name")
    if name is None:
        return
    locate = reading.document.located
    dist = distribution_id(name.text)
    source = package.table("source")
    kind: Literal["own", "registry", "git", "other"] = "registry"
    repository = revision = None
    if any(key in source for key in _OWN):
        kind = "own"
    git = _git(source)
    if git is not None:
        kind = "git"
        url, references = git
        repository = repository_id(url.text)
        for text in references:
            common.git_claims(
                reading, "distribution", dist, url, text, "lock entry", ref="rev", derived=True
            )
            revision = locate(text)
    metadata = package.table("metadata")
    for entry in metadata.tables("requires-dist"):
        _required(reading, entry)
    groups = metadata.table("requires-dev")
    for group in groups:
        for entry in groups.tables(group):
            _required(reading, entry)
    version = package.string("version")
    if version is None:
        return
    locked = "hash-locked: its hashes belong to the version" if kind == "registry" else None
    reading.claims.append(
        Claim(
            "distribution", dist, "exact", locate(version), "lock entry", "pep440",
            locked=locked, derived=True,
        )
    )  # fmt: skip
    reading.facts.append(
        LockPackage(dist, locate(version), locate(name), "python", kind, repository, revision)
    )


def _required(reading: Reading, entry: toml.Table) -> None:
    """Read what the lock repeats of the project's own requirements."""
    name, specifier = entry.string("name"), entry.string("specifier")
    git = _git(entry)
    if name is None:
        return
    dist = distribution_id(name.text)
    how = "lock requires-dist"
    if git is not None:
        for text in git[1]:
            common.git_claims(
                reading, "distribution", dist, git[0], text, how, ref="rev", derived=True
            )
    if specifier is None:
        return
    exact = re.fullmatch(r"={2,3}([^*,=]+)", specifier.text)
    value = specifier.group(exact, 1) if exact else specifier
    reading.claims.append(
        Claim(
            "distribution", dist, "exact" if exact else "range", reading.document.located(value),
            how, "pep440", derived=True,
        )
    )  # fmt: skip


def _git(source: toml.Table) -> tuple[Traced, list[Traced]] | None:
    """Return the repository and the revisions of a git source, in either lock's form."""
    whole = source.string("git")
    if whole is not None:
        at = whole.text.find("#")
        body = whole if at < 0 else whole[:at]
        query = body.text.find("?")
        url = body if query < 0 else body[:query]
        references = [] if at < 0 else [whole[at + 1 :]]
        for match in _QUERY.finditer(body.text[query + 1 :] if query >= 0 else ""):
            if match[1] == "rev":
                start = query + 1
                references.insert(0, body[start + match.start(2) : start + match.end(2)])
        return url, references
    kind, address = source.string("type"), source.string("url")
    if kind is None or kind.text != "git" or address is None:
        return None
    found = (source.string("reference"), source.string("resolved_reference"))
    reference, resolved = found
    references = [resolved] if resolved is not None else []
    if reference is not None and re.fullmatch(r"[0-9a-f]{40}", reference.text):
        references.insert(0, reference)
    return address, references
