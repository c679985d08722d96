"""`make images`: from the pinned revision to wheels and images."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.bases.choose import BaseImage, provide
from harness.console import note
from harness.engine import Engine, ensure
from harness.engine.build import Build, build
from harness.errors import InputError
from harness.files import write_atomically
from harness.images import archive, sbom
from harness.images.context import context_of, lay_out
from harness.images.fetch import fetch
from harness.images.steps import Steps
from harness.pins.config import Pins
from harness.source import pin
from harness.source.export import PINNED, Source, resolve
from harness.wheels import manifest
from harness.workspace import GIB, Workspace, read_json, write_json

IMAGES = ("cpu", "gpu")
REPOSITORY = "replay-sim"
MIN_FREE_GIB = 6.0
# The pins of what compiles a wheel.
BUILD_TOOLS = ("rust", "python", "maturin", "zig", "pyo3")


@dataclass(frozen=True)
class BuiltImage:
    """One image of this run.

    Attributes:
        name: "cpu" or "gpu".
        tags: Its names in the engine.
        image_id: Content id.
        size: Bytes of its files.
    """

    name: str
    tags: tuple[str, ...]
    image_id: str
    size: int


@dataclass(frozen=True)
class Result:
    """What a run made."""

    source: Source
    version: str
    wheelhouse: Path
    images: tuple[BuiltImage, ...]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Run:
    """What every step needs."""

    workspace: Workspace
    engine: Engine
    source: Source
    version: str
    bases: dict[str, BaseImage]
    pins: Pins

    def build(
        self,
        name: str,
        target: str,
        output: Path | None = None,
        tag: str | None = None,
        **arguments: str,
    ) -> None:
        """Build one target of the Dockerfile, without network."""
        request = Build(
            name=name,
            dockerfile=self.workspace.container / "Dockerfile",
            context=context_of(self.workspace),
            target=target,
            arguments={
                "BUILDER_BASE": self.bases["builder"].reference,
                "RUNTIME_BASE": self.bases["runtime"].reference,
                "SOURCE_DATE_EPOCH": str(self.source.epoch),
                "SOURCE_REVISION": self.source.revision,
                "RUST_VERSION": _version(self.pins, "rust"),
                "PYTHON_VERSION": _version(self.pins, "python"),
                **arguments,
            },
            output=output,
            tag=tag,
        )
        build(self.engine, request, self.workspace.logs)


def prepare(workspace: Workspace, steps: Steps, mode: str = PINNED) -> Run:
    """Do what comes before every build: engine, space, sources, bases, downloads."""
    with steps.step("source", "Finding the pinned source revision"):
        pinned = pin.load(workspace.root)
        source = resolve(pinned, mode)
        note(f"revision {source.revision}")
    with steps.step("engine", "Finding a container engine"):
        engine = ensure()
        note(engine.describe())
        workspace.require_space(_needed_space(), *filter(None, [engine.data_root]))
    with steps.step("export", "Exporting the sources"):
        version = lay_out(workspace, source)
    with steps.step("bases", "Providing the base images"):
        bases = provide(workspace, engine)
    with steps.step("fetch", "Fetching crates and wheels"):
        fetch(workspace, engine, bases["builder"].reference)
    return Run(workspace, engine, source, version, bases, pinned.pins)


def _needed_space() -> int:
    """Return the bytes that must be free before a build starts."""
    text = os.environ.get("HARNESS_MIN_FREE_GIB") or str(MIN_FREE_GIB)
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise InputError(f"HARNESS_MIN_FREE_GIB={text} is no number", fix="HARNESS_MIN_FREE_GIB=6")
    return int(float(text) * GIB)


def build_wheels(run: Run) -> Path:
    """Compile both wheels and lay out the wheelhouse with its manifest."""
    workspace = run.workspace
    with workspace.scratch() as folder:
        house = folder / "wheelhouse"
        run.build("wheels", "wheels", output=house)
        manifest.write(
            house,
            revision=run.source.revision,
            tree=run.source.tree,
            dirty=run.source.dirty,
            builder={
                "base": run.bases["builder"].reference,
                "base_id": run.bases["builder"].image_id,
                **{name: _version(run.pins, name) for name in BUILD_TOOLS},
            },
        )
        copy = folder / "copy"
        shutil.copytree(house, copy)
        workspace.publish(copy, context_of(workspace) / "wheelhouse")
        # The same wheels stay in place, so nothing that was made from them looks outdated.
        if not _same_wheelhouse(house, workspace.wheelhouse):
            workspace.publish(house, workspace.wheelhouse)
    return workspace.wheelhouse


def _same_wheelhouse(one: Path, other: Path) -> bool:
    """Say whether two wheelhouses hold the same files; the manifest has every wheel's hash."""
    if not other.is_dir() or {p.name for p in one.iterdir()} != {p.name for p in other.iterdir()}:
        return False
    manifests = [(house / manifest.MANIFEST).read_bytes() for house in (one, other)]
    return manifests[0] == manifests[1]


def build_image(run: Run, name: str) -> BuiltImage:
    """Build one image and give it a content id that another run gets too."""
    workspace, engine, base = run.workspace, run.engine, run.bases["runtime"]
    # Two checkouts can build at once on one engine.
    checkout = hashlib.sha256(str(workspace.root).encode()).hexdigest()[:8]
    raw = f"replay-harness/built-{name}:{checkout}"
    context = context_of(workspace)
    bill = sbom.render(name, run.version, run.source, base, context)
    write_atomically(context / "sbom" / f"{name}.cdx.json", bill)
    run.build(
        name,
        name,
        tag=raw,
        VERSION=run.version,
        CREATED=archive.timestamp(run.source.epoch),
        CUDA_VERSION=_version(run.pins, "cuda-runtime"),
        BASE_NAME=base.reference,
        BASE_DIGEST=base.image_id,
    )
    version_tag = run.version.replace("+", "-")
    tags = (f"{REPOSITORY}:{name}", f"{REPOSITORY}:{version_tag}-{name}")
    built = engine.sdk.images.get(raw)
    state_file = workspace.build / "cache" / "images.json"
    state = read_json(state_file)
    known = state.get(name, {})
    if known.get("built") == built.id and _tagged(engine, tags, known["id"]):
        return BuiltImage(name, tags, known["id"], known["size"])
    with workspace.scratch() as folder:
        saved, normal = folder / "saved.tar", folder / "normal.tar"
        with saved.open("wb") as stream:
            for chunk in built.save():
                stream.write(chunk)
        archive.normalise(
            saved,
            normal,
            keep=set(base.layers),
            tags=list(tags),
            epoch=run.source.epoch,
            scratch=folder,
        )
        with normal.open("rb") as stream:
            engine.sdk.images.load(stream)
    # The containerd image store names images by manifest: ask instead of computing.
    loaded = engine.sdk.images.get(tags[0])
    image_id, size = str(loaded.id), int(loaded.attrs["Size"])
    for old in {known.get("id"), known.get("built")} - {None, image_id, built.id}:
        _forget(engine, old)
    write_json(state_file, {**state, name: {"built": built.id, "id": image_id, "size": size}})
    return BuiltImage(name, tags, image_id, size)


def _tagged(engine: Engine, tags: tuple[str, ...], image_id: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        return all(engine.sdk.images.get(tag).id == image_id for tag in tags)
    except ImageNotFound:
        return False


def _forget(engine: Engine, image_id: str) -> None:
    """Remove an image that this run replaced, unless it has a name or is in use."""
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        if not engine.sdk.images.get(image_id).tags:
            engine.sdk.images.remove(image_id)


def _version(pins: Pins, name: str) -> str:
    """Return the version of a pin that the build can't do without."""
    found = pins.find(name)
    if found.version is None:
        raise InputError(f"pin {name} has no version", where=pins.document.path)
    return found.version.text


def make(workspace: Workspace, mode: str = PINNED, images: tuple[str, ...] = IMAGES) -> Result:
    """Run the whole line and return what it made."""
    steps = Steps()
    with workspace.locked():
        run = prepare(workspace, steps, mode)
        with steps.step("wheels", "Building the wheels, without network"):
            house = build_wheels(run)
        built = []
        for name in images:
            with steps.step(name, f"Building the {name} image, without network"):
                built.append(build_image(run, name))
        result = Result(run.source, run.version, house, tuple(built), steps.seconds)
        if images:
            _record(workspace, result)
    return result


def rust_check(workspace: Workspace, mode: str = PINNED) -> None:
    """Format, lint and test the Rust crates in the builder."""
    steps = Steps()
    with workspace.locked():
        run = prepare(workspace, steps, mode)
        message = "Checking and testing the crates in the builder"
        with steps.step("rust", message), workspace.scratch() as folder:
            run.build("rust-check", "rust-checked", output=folder / "checked")


def _record(workspace: Workspace, result: Result) -> None:
    """Write what was made for the steps that come after."""
    write_json(
        workspace.build / "images.json",
        {
            "schema": 1,
            "revision": result.source.revision,
            "tree": result.source.tree,
            "version": result.version,
            "images": {
                image.name: {"id": image.image_id, "size": image.size, "tags": list(image.tags)}
                for image in result.images
            },
            "seconds": {name: round(value, 1) for name, value in result.seconds.items()},
        },
    )
