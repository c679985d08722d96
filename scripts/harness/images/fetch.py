"""Downloading: crates by Cargo.lock, wheels by hash. The only step that uses the network."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from harness import network
from harness.console import note
from harness.engine import Engine
from harness.engine.build import Build, build
from harness.images.context import context_of
from harness.workspace import Workspace, read_json, write_json

OUTPUTS = ("vendor", "wheels")


def _inputs_key(context: Path, recipe: Path, base: str) -> str:
    """Return the content id of everything that decides what is downloaded."""
    digest = hashlib.sha256(f"{base}\n".encode())
    digest.update(recipe.read_bytes())
    for folder in ("manifests", "locks"):
        for path in sorted((context / folder).rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(context)}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def fetch(workspace: Workspace, engine: Engine, builder_base: str) -> None:
    """See that vendor/ and wheels/ belong to the present locks."""
    context = context_of(workspace)
    recipe = workspace.container / "fetch.Dockerfile"
    stamp = context / "fetched.json"
    key = _inputs_key(context, recipe, builder_base)
    if read_json(stamp).get("key") == key and all((context / name).is_dir() for name in OUTPUTS):
        note("crates and wheels are here already")
        return
    with workspace.scratch() as folder:
        inputs = folder / "inputs"
        for name in ("manifests", "locks"):
            shutil.copytree(context / name, inputs / name)
        secrets = folder / "secrets"
        secrets.mkdir(mode=0o700)
        build(
            engine,
            Build(
                name="fetch",
                dockerfile=recipe,
                context=inputs,
                target="fetched",
                arguments={"BUILDER_BASE": builder_base},
                network="host",
                secrets=network.collect(secrets),
                output=folder / "outputs",
            ),
            workspace.logs,
        )
        # The stamp goes first: without it a half-replaced pair is fetched again.
        stamp.unlink(missing_ok=True)
        for name in OUTPUTS:
            workspace.publish(folder / "outputs" / name, context / name)
    write_json(stamp, {"key": key})
