"""The build context: everything that a build may read, and nothing else.

build/context/
    src/            the exported sources
    manifests/      their manifests with empty sources beside: what compiles the dependencies
    locks/          deps/*.txt
    cargo.toml      points cargo at vendor/
    vendor/         the crates that the lock names, downloaded by `fetch`
    wheels/         build/, app/ and gpu/, the wheels that deps/*.txt name, likewise
    wheelhouse/     made by the wheels build
    sbom/           what each image is made of
"""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

from harness.source.export import Source, export
from harness.workspace import Workspace

# The locks of what a container installs.
LOCKS = ("build", "app", "gpu")
# Import package of each crate that becomes a wheel.
WHEEL_CRATES = {"kv-router-py": "kv_router", "replay-py": "replay_sim"}
TARGET_KINDS = {"bench": "benches", "test": "tests", "example": "examples", "bin": "src/bin"}


def context_of(workspace: Workspace) -> Path:
    """Return the folder of the build context."""
    return workspace.build / "context"


def version_of(sources: Path) -> str:
    """Return the version of exported sources."""
    manifest = tomllib.loads((sources / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def lay_out(workspace: Workspace, source: Source) -> str:
    """Write src/, manifests/, locks/ and cargo.toml; return the version of the sources."""
    context = context_of(workspace)
    with workspace.scratch() as folder:
        export(source, folder / "src")
        version = version_of(folder / "src")
        _write_build_info(folder / "src", source, version)
        _write_manifests(folder / "src", folder / "manifests")
        locks = folder / "locks"
        locks.mkdir()
        for name in LOCKS:
            shutil.copyfile(workspace.deps / f"{name}.txt", locks / f"{name}.txt")
        for name in ("src", "manifests", "locks"):
            workspace.publish(folder / name, context / name)
    shutil.copyfile(workspace.container / "cargo.toml", context / "cargo.toml")
    return version


def _write_build_info(sources: Path, source: Source, version: str) -> None:
    """Put what a wheel was built from beside its Python files."""
    info = {
        "revision": source.revision,
        "tree": source.tree,
        "dirty": source.dirty,
        "version": version,
    }
    for crate, package in WHEEL_CRATES.items():
        path = sources / "crates" / crate / "python" / package / "build-info.json"
        path.write_text(json.dumps(info, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _write_manifests(sources: Path, target: Path) -> None:
    """Copy the manifests; give each declared target an empty source, so that cargo accepts them."""
    (target / "crates").mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copyfile(sources / name, target / name)
    for manifest in sorted((sources / "crates").glob("*/Cargo.toml")):
        crate = target / "crates" / manifest.parent.name
        (crate / "src").mkdir(parents=True)
        shutil.copyfile(manifest, crate / "Cargo.toml")
        (crate / "src" / "lib.rs").touch()
        table = tomllib.loads(manifest.read_text(encoding="utf-8"))
        for kind, folder in TARGET_KINDS.items():
            for declared in table.get(kind, []):
                path = crate / declared.get("path", f"{folder}/{declared['name']}.rs")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("fn main() {}\n", encoding="utf-8")
        if package := WHEEL_CRATES.get(manifest.parent.name):
            for name in ("pyproject.toml", "LICENSE"):
                shutil.copyfile(manifest.parent / name, crate / name)
            stub = crate / "python" / package / "__init__.py"
            stub.parent.mkdir(parents=True)
            stub.touch()
