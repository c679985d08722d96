"""Which bases a build starts from: made of Debian packages, or pulled from a registry by digest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness.bases import bootstrap, packages
from harness.bases.definition import NAMES, Base, load
from harness.bases.registry import pull, registry_of
from harness.console import note
from harness.engine import Engine
from harness.errors import InputError
from harness.workspace import Workspace

CHOICES = ("auto", "registry", "debian")
TAG = "replay-harness/base-{name}"
# Bases don't follow the source revision: their time stamp is fixed, so their ids are too.
BASE_EPOCH = 1_762_000_000


@dataclass(frozen=True)
class BaseImage:
    """A base that the engine has.

    Attributes:
        reference: What FROM names.
        image_id: The engine's id.
        layers: Digests of its layers.
        packages: Debian package file to sha256; empty when it came from a registry.
    """

    reference: str
    image_id: str
    layers: tuple[str, ...]
    packages: dict[str, str]


def decide(environ: dict[str, str] | None = None) -> tuple[str, str]:
    """Return "registry" or "debian", and why.

    Raises:
        InputError: BASE is none of auto, registry and debian, or names a registry without one.
    """
    environ = dict(os.environ) if environ is None else environ
    choice = environ.get("BASE", "auto")
    registry = environ.get("BASE_REGISTRY")
    if choice not in CHOICES:
        raise InputError(f"BASE={choice} is not known", fix=f"BASE={'|'.join(CHOICES)}")
    if choice == "registry" and not registry:
        raise InputError(
            "BASE=registry, but no registry is named",
            fix="BASE_REGISTRY=HOST[:PORT][/PREFIX], or BASE=debian",
        )
    if choice == "auto":
        if registry:
            return "registry", f"BASE_REGISTRY={registry} is set"
        return "debian", "BASE_REGISTRY is not set"
    return choice, f"BASE={choice}"


def provide(workspace: Workspace, engine: Engine) -> dict[str, BaseImage]:
    """See that the engine has every base; say where they come from and why."""
    choice, why = decide()
    note(f"bases: {choice} ({why})")
    folder = workspace.container / "bases"
    if choice == "registry":
        return {name: _from_registry(workspace, engine, name) for name in NAMES}
    return {name: _from_debian(workspace, engine, load(folder, name)) for name in NAMES}


def _from_registry(workspace: Workspace, engine: Engine, name: str) -> BaseImage:
    reference = registry_of(workspace, name)
    pulled = pull(engine, reference)
    return BaseImage(reference, str(pulled.id), tuple(pulled.attrs["RootFS"]["Layers"]), {})


def _from_debian(workspace: Workspace, engine: Engine, base: Base) -> BaseImage:
    cache = workspace.build / "cache"
    locked = packages.read_lock(packages.lock_file(workspace, base))
    if locked and (found := _existing(engine, base, locked)):
        return found
    # A build that had to leave this very lock wrote down what it took.
    left = cache / f"debian-{base.name}-{base.key(locked)}.lock"
    drifted = packages.read_lock(left)
    if drifted and (found := _existing(engine, base, drifted)):
        packages.report_drift(workspace, base, locked, drifted)
        return found
    bootstrap.require(workspace.root)
    pool = cache / "debs"
    chosen = packages.obtain(workspace, base, pool)
    if chosen != locked:
        packages.write_lock(left, base, chosen)
    if found := _existing(engine, base, chosen):
        return found
    reference = f"{TAG.format(name=base.name)}:{base.key(chosen)}"
    note(f"bootstrapping {reference} from {len(chosen)} packages, without network")
    with workspace.scratch() as folder:
        repository = packages.repository(base, pool, chosen, folder / "repository")
        tree, archived = folder / "root.tar", folder / "image.tar"
        bootstrap.root_filesystem(base, repository, tree, BASE_EPOCH)
        bootstrap.image(base, tree, archived, reference, BASE_EPOCH)
        with archived.open("rb") as stream:
            engine.sdk.images.load(stream)
    found = _existing(engine, base, chosen)
    assert found is not None
    return found


def _existing(engine: Engine, base: Base, chosen: dict[str, str]) -> BaseImage | None:
    from docker.errors import ImageNotFound

    reference = f"{TAG.format(name=base.name)}:{base.key(chosen)}"
    try:
        image = engine.sdk.images.get(reference)
    except ImageNotFound:
        return None
    return BaseImage(reference, str(image.id), tuple(image.attrs["RootFS"]["Layers"]), chosen)


def lock(workspace: Workspace) -> list[Path]:
    """Record the packages that Debian's archive offers now, for every base."""
    found = {}
    for name in NAMES:
        base = load(workspace.container / "bases", name)
        with workspace.scratch() as folder:
            apt = packages.Apt(folder, base.suite)
            apt.update()
            found[base] = apt.resolve(base.requested)
    # Every base is resolved before the first lock is written.
    for base, chosen in found.items():
        packages.write_lock(packages.lock_file(workspace, base), base, chosen)
    return [packages.lock_file(workspace, base) for base in found]
