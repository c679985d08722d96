"""Cargo workspaces: which manifest a member inherits from, and which lock it belongs to."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from harness.pins.text import Document, Located
from harness.pins.tokens import CargoPackage, CargoWorkspace, Claim, Project, Reading
from harness.pins.walk import glob

if TYPE_CHECKING:
    from harness.pins.repository import Repository


def link(repository: Repository) -> None:
    """Add, at the workspace's version, the claim of every member that inherits it."""
    for reading in list(repository.readings):
        package = package_of(reading)
        if package is None or not package.inherits:
            continue
        root = workspace_of(repository, reading.document.path)
        workspace = workspace_in(root) if root is not None else None
        if root is None or workspace is None or workspace.version is None:
            continue
        how = "[workspace.package] version"
        root.claims.append(Claim("crate", package.name, "exact", workspace.version, how, "semver"))


def package_of(reading: Reading) -> CargoPackage | None:
    """Return the package of a manifest."""
    return next((fact for fact in reading.facts if isinstance(fact, CargoPackage)), None)


def workspace_in(reading: Reading) -> CargoWorkspace | None:
    """Return the workspace that a manifest declares."""
    return next((fact for fact in reading.facts if isinstance(fact, CargoWorkspace)), None)


def workspace_of(repository: Repository, path: str) -> Reading | None:
    """Return the manifest whose workspace governs the manifest at `path` (itself included)."""
    start = posixpath.dirname(path)
    folder = start
    while True:
        manifest = f"{folder}/Cargo.toml" if folder else "Cargo.toml"
        reading = repository.by_path.get(manifest)
        workspace = workspace_in(reading) if reading is not None else None
        if reading is not None and workspace is not None:
            below = posixpath.relpath(start or ".", folder or ".")
            left_out = any(
                below == item.text.strip("/") or below.startswith(item.text.strip("/") + "/")
                for item in workspace.excluded
            )
            named = any(glob(item.text.strip("/")).fullmatch(below) for item in workspace.members)
            if below == "." or named or not left_out:
                return reading
            return None
        if not folder:
            return None
        folder = posixpath.dirname(folder)


def lock_of(repository: Repository, path: str) -> Reading | None:
    """Return the Cargo.lock that belongs to the manifest at `path`."""
    root = workspace_of(repository, path)
    folder = posixpath.dirname(root.document.path if root is not None else path)
    return repository.by_path.get(f"{folder}/Cargo.lock" if folder else "Cargo.lock")


def version_of(repository: Repository, reading: Reading) -> tuple[Reading, Located] | None:
    """Return where the version of a manifest's package stands: its reading and the value."""
    package = package_of(reading)
    if package is None:
        return None
    if package.version is not None:
        return reading, package.version
    root = workspace_of(repository, reading.document.path) if package.inherits else None
    workspace = workspace_in(root) if root is not None else None
    if root is None or workspace is None or workspace.version is None:
        return None
    return root, workspace.version


def manifest_of(repository: Repository, document: Document, project: Project) -> Reading | None:
    """Return the Cargo manifest that a maturin project is built from."""
    if not project.backend.startswith("maturin"):
        return None
    path = posixpath.join(posixpath.dirname(document.path), project.manifest or "Cargo.toml")
    return repository.by_path.get(posixpath.normpath(path))


def crate_version(
    repository: Repository, document: Document, project: Project
) -> tuple[Document, Located] | None:
    """Return where the crate behind a maturin project has its version."""
    manifest = manifest_of(repository, document, project)
    version = version_of(repository, manifest) if manifest is not None else None
    return (version[0].document, version[1]) if version is not None else None
