"""Bases from a registry, by digest.

A registry is named by the user (BASE_REGISTRY), never by this repository. What it must hold is
named by deps/pins.toml: the pins `base-builder` and `base-runtime` carry the digest that
`harness images push-bases` printed when the bases were published there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from harness.engine import Engine, registry
from harness.errors import InputError
from harness.pins import config
from harness.workspace import Workspace

if TYPE_CHECKING:
    from docker.models.images import Image


def registry_of(workspace: Workspace, name: str) -> str:
    """Return the full reference, with digest, of a base in the user's registry.

    Raises:
        InputError: deps/pins.toml has no digest for this base.
    """
    pins = config.load(workspace.root)
    digests = {pin.name: pin.digest for pin in pins.pins}
    digest = digests.get(f"base-{name}")
    if digest is None:
        raise InputError(
            f"no pin named base-{name} with a digest",
            where=pins.document.path,
            fix="harness images push-bases REGISTRY prints the pins to add, or BASE=debian",
        )
    return f"{os.environ['BASE_REGISTRY'].rstrip('/')}/base-{name}@{digest.text}"


def pull(engine: Engine, reference: str) -> Image:
    """Return one base by digest; the engine's own where it has it.

    Raises:
        ToolError: The registry does not answer or does not have it.
    """
    from docker.errors import ImageNotFound

    try:
        return engine.sdk.images.get(reference)
    except ImageNotFound:
        fix = "see that BASE_REGISTRY answers and holds this digest, or use BASE=debian"
        return registry.pull(engine, reference, fix=fix)


def push(engine: Engine, local: str, place: str, name: str) -> str:
    """Push a base to HOST[:PORT][/PREFIX] and return the digest under which it is known there.

    Raises:
        ToolError: The registry refused it.
    """
    return registry.push(engine, local, f"{place.rstrip('/')}/base-{name}:latest")
