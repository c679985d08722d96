"""A lock that no longer belongs to its manifests."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import lru_cache

from harness.pins import versions
from harness.pins.findings import Finding, finding, place
from harness.pins.inheritance import lock_of, package_of, version_of, workspace_of
from harness.pins.readers.common import relative
from harness.pins.rules import Context
from harness.pins.text import Document, Located, Span
from harness.pins.tokens import CargoDependency, Claim, LockPackage, Reading

CODE = "lock-behind-manifest"
SUMMARY = "a lock does not say what its manifest says"


FIX = "lock it again: harness pins lock"
_LISTS = ("[project", "[dependency-groups]", "[tool.poetry")


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding in the lock for every disagreement with a manifest.

    Where a pin decides that the lock is right and the manifest wrong, the manifest's own finding
    is enough.
    """
    for reading in context.repository.readings:
        name = posixpath.basename(reading.document.path)
        if name == "Cargo.toml":
            yield from _cargo(context, reading)
        elif name == "pyproject.toml":
            yield from _python(context, reading)


@lru_cache(maxsize=64)
def _packages(lock: Reading) -> dict[str, list[LockPackage]]:
    found: dict[str, list[LockPackage]] = {}
    for fact in lock.facts:
        if isinstance(fact, LockPackage):
            found.setdefault(fact.name, []).append(fact)
    return found


def _cargo(context: Context, manifest: Reading) -> Iterator[Finding]:
    lock = lock_of(context.repository, manifest.document.path)
    if lock is None or lock.faults:
        return
    packages = _packages(lock)
    package = package_of(manifest)
    if package is not None:
        version = version_of(context.repository, manifest)
        own = [p for p in packages.get(package.name, []) if p.source == "own"]
        if not own:
            yield _missing(lock, manifest.document, package.at, package.name)
        elif version is not None and not any(p.version.text == version[1].text for p in own):
            yield from _behind(context, lock, own[0].version, version[0].document, version[1])
    patched = {
        fact.name
        for fact in (workspace_of(context.repository, manifest.document.path) or manifest).facts
        if isinstance(fact, CargoDependency) and fact.table.startswith(("patch.", "replace"))
    }
    for document, dependency in _dependencies(context, manifest):
        if dependency.name not in patched:
            yield from _dependency(context, lock, packages, document, dependency)


def _dependencies(
    context: Context, manifest: Reading
) -> Iterator[tuple[Document, CargoDependency]]:
    """Yield the dependencies of a manifest, inherited ones as the workspace has them."""
    root = workspace_of(context.repository, manifest.document.path)
    shared = {
        fact.at.text: fact
        for fact in (root.facts if root is not None else ())
        if isinstance(fact, CargoDependency) and fact.table == "workspace.dependencies"
    }
    for fact in manifest.facts:
        if not isinstance(fact, CargoDependency) or fact.table == "workspace.dependencies":
            continue
        if fact.table.startswith(("patch.", "replace")):
            continue
        if not fact.inherits:
            yield manifest.document, fact
        elif root is not None and fact.at.text in shared:
            yield root.document, shared[fact.at.text]


def _dependency(
    context: Context,
    lock: Reading,
    packages: dict[str, list[LockPackage]],
    document: Document,
    dependency: CargoDependency,
) -> Iterator[Finding]:
    entries = packages.get(dependency.name, [])
    if not entries:
        yield _missing(lock, document, dependency.at, dependency.name)
        return
    if dependency.path is not None:
        yield from _sibling(context, lock, entries, document, dependency.path)
    revision = next((at for kind, at in dependency.references if kind == "rev"), None)
    if dependency.git is not None and revision is not None:
        git = [p for p in entries if p.repository == dependency.repository and p.revision]
        if not git:
            yield from _behind(context, lock, entries[0].version, document, revision)
        elif not any(p.revision and p.revision.text.startswith(revision.text) for p in git):
            assert git[0].revision is not None
            yield from _behind(context, lock, git[0].revision, document, revision)
    elif dependency.path is None and dependency.git is None and dependency.requirement is not None:
        wanted = dependency.requirement
        if all(versions.admits_cargo(wanted.text, p.version.text) is False for p in entries):
            yield from _behind(context, lock, entries[0].version, document, wanted)


def _sibling(
    context: Context, lock: Reading, entries: list[LockPackage], document: Document, path: Located
) -> Iterator[Finding]:
    """A path dependency may be no member of the workspace, and is locked all the same."""
    target = relative(document.path, f"{path.text}/Cargo.toml")
    manifest = context.repository.by_path.get(target or "")
    version = version_of(context.repository, manifest) if manifest is not None else None
    own = [entry for entry in entries if entry.source == "own"]
    if version is not None and own and not any(e.version.text == version[1].text for e in own):
        yield from _behind(context, lock, own[0].version, version[0].document, version[1])


def _python(context: Context, manifest: Reading) -> Iterator[Finding]:
    folder = posixpath.dirname(manifest.document.path)
    lock = None
    while lock is None:
        for name in ("uv.lock", "poetry.lock"):
            lock = lock or context.repository.by_path.get(posixpath.join(folder, name))
        if not folder:
            break
        folder = posixpath.dirname(folder)
    if lock is None or lock.faults:
        return
    packages = _packages(lock)
    for claim in manifest.claims:
        if claim.kind != "distribution" or not claim.how.startswith(_LISTS):
            continue
        entries = packages.get(claim.name, [])
        if claim.how == "[project] version":
            entries = [entry for entry in entries if entry.source == "own"]
            if entries and not any(versions.equal(claim.text, e.version.text) for e in entries):
                yield from _behind(context, lock, entries[0].version, manifest.document, claim.at)
        elif claim.aspect in ("exact", "range", "name"):
            if not entries:
                yield _missing(lock, manifest.document, claim.at, claim.name)
            elif not any(_admits(claim, entry.version.text) for entry in entries):
                yield from _behind(context, lock, entries[0].version, manifest.document, claim.at)
        elif claim.aspect == "revision" and claim.ref == "rev":
            git = [e.revision for e in entries if e.revision is not None]
            if git and not any(at.text == claim.text for at in git):
                yield from _behind(context, lock, git[0], manifest.document, claim.at)


def _admits(claim: Claim, version: str) -> bool:
    if claim.aspect == "name":
        return True
    if claim.aspect == "exact":
        return versions.equal(claim.text, version)
    return versions.admits(claim.text, version) is not False


def _behind(
    context: Context, lock: Reading, at: Located, document: Document, wanted: Located
) -> Iterator[Finding]:
    pinned = context.status_at(lock.document.path, at.span)
    if pinned == "agrees" and context.status_at(document.path, wanted.span) != "agrees":
        return
    line, _ = document.position(wanted.span.start)
    yield finding(
        CODE,
        "error",
        lock.document,
        at.span,
        f"the lock says {at.text}, {document.path}:{line} says {wanted.text}",
        expected=wanted.text,
        found=at.text,
        related=[place(document, wanted.span)],
        fix=FIX,
    )


def _missing(lock: Reading, document: Document, at: Located, name: str) -> Finding:
    line, _ = document.position(at.span.start)
    return finding(
        CODE,
        "error",
        lock.document,
        Span(lock.document.bom, lock.document.bom),
        f"{name} is not in the lock; {document.path}:{line} names it",
        expected=name,
        related=[place(document, at.span)],
        fix=FIX,
    )
