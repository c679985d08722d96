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
from harness.workspace import Workspace, write_json

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
        origin: "debian" or the registry reference.
    """

    reference: str
    image_id: str
    layers: tuple[str, ...]
    packages: dict[str, str]
    origin: str


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
    return BaseImage(
        reference, str(pulled.id), tuple(pulled.attrs["RootFS"]["Layers"]), {}, reference
    )


def _from_debian(workspace: Workspace, engine: Engine, base: Base) -> BaseImage:
    cache = workspace.build / "cache"
    drifted = cache / f"debian-{base.name}.lock"
    locked = packages.read_lock(packages.lock_file(workspace, base))
    # A build that had to leave the lock wrote down what it took.
    for known in (locked, packages.read_lock(drifted)):
        if known and (found := _existing(engine, base, known)):
            return found
    pool = cache / "debs"
    chosen = packages.obtain(workspace, base, pool)
    if chosen != locked:
        packages.write_lock(drifted, base, chosen)
    if found := _existing(engine, base, chosen):
        return found
    packages.require_mmdebstrap()
    reference = f"{TAG.format(name=base.name)}:{base.key(chosen)}"
    note(f"bootstrapping {reference} from {len(chosen)} packages, without network")
    with workspace.scratch() as folder:
        repository = packages.repository(base, pool, chosen, folder / "repository")
        tree, archived = folder / "root.tar", folder / "image.tar"
        bootstrap.root_filesystem(base, repository, tree, BASE_EPOCH)
        bootstrap.image(base, tree, archived, reference, BASE_EPOCH)
        with archived.open("rb") as stream:
            engine.sdk.images.load(stream)
    write_json(cache / f"base-{base.name}.json", {"packages": chosen, "reference": reference})
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
    return BaseImage(
        reference, str(image.id), tuple(image.attrs["RootFS"]["Layers"]), chosen, "debian"
    )


def lock(workspace: Workspace) -> list[Path]:
    """Record the packages that Debian's archive offers now, for every base."""
    written = []
    for name in NAMES:
        base = load(workspace.container / "bases", name)
        with workspace.scratch() as folder:
            apt = packages.Apt(folder, base.suite)
            apt.update()
            file = packages.lock_file(workspace, base)
            packages.write_lock(file, base, apt.resolve(base.requested))
            written.append(file)
    return written
