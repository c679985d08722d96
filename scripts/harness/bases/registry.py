"""Bases from a registry, by digest.

A registry is named by the user (BASE_REGISTRY), never by this repository. What it must hold is
named by deps/pins.toml: the pins `base-builder` and `base-runtime` carry the digest that
`harness images push-bases` printed when the bases were published there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from harness.engine import Engine
from harness.errors import InputError, ToolError
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
    """Pull one image by digest.

    Raises:
        ToolError: The registry does not answer or does not have it.
    """
    from docker.errors import APIError, ImageNotFound

    try:
        return engine.sdk.images.get(reference)
    except ImageNotFound:
        pass
    try:
        return engine.sdk.images.pull(reference)
    except APIError as error:
        raise ToolError(
            f"can't pull {reference}: {error.explanation or error}",
            fix="see that BASE_REGISTRY answers and holds this digest, or use BASE=debian",
        ) from error


def push(engine: Engine, local: str, registry: str, name: str) -> str:
    """Push a base and return the digest under which the registry knows it.

    Raises:
        ToolError: The registry refused it.
    """
    target = f"{registry.rstrip('/')}/base-{name}"
    engine.sdk.images.get(local).tag(target, tag="latest")
    digest = None
    for line in engine.sdk.images.push(target, tag="latest", stream=True, decode=True):
        if "error" in line:
            raise ToolError(f"pushing {target} failed: {line['error']}")
        digest = line.get("aux", {}).get("Digest", digest)
    if digest is None:
        raise ToolError(f"the registry gave no digest for {target}")
    return str(digest)
