"""Moving images between the engine and a registry."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from harness.engine.client import Engine
from harness.errors import ToolError

if TYPE_CHECKING:
    from docker.models.images import Image


def credentials() -> dict[str, str] | None:
    """Return REGISTRY_USER and REGISTRY_TOKEN, for the engine; None: what `docker login` left."""
    user, token = os.environ.get("REGISTRY_USER"), os.environ.get("REGISTRY_TOKEN")
    return {"username": user, "password": token} if user and token else None


def pull(engine: Engine, reference: str, *, fix: str) -> Image:
    """Ask the registry for one image, by digest, even where the engine knows it.

    Raises:
        ToolError: The registry does not answer, does not have it, or sends other bytes.
    """
    from docker.errors import DockerException

    try:
        return engine.sdk.images.pull(reference, auth_config=credentials())
    except DockerException as error:
        said = getattr(error, "explanation", None) or error
        raise ToolError(f"can't pull {reference}: {said}", fix=fix) from error


def push(engine: Engine, local: str, target: str, *, fix: str | None = None) -> str:
    """Push a local image as `target` (REPOSITORY:TAG); return the digest that it has there.

    The engine knows it as `target` afterwards.

    Raises:
        ToolError: The registry does not answer or refused it.
    """
    repository, _, tag = target.rpartition(":")
    engine.sdk.images.get(local).tag(repository, tag=tag)
    digest = None
    for line in engine.sdk.images.push(
        repository, tag=tag, stream=True, decode=True, auth_config=credentials()
    ):
        if "error" in line:
            raise ToolError(f"pushing {target} failed: {line['error']}", fix=fix)
        digest = line.get("aux", {}).get("Digest", digest)
    if digest is None:
        raise ToolError(f"the registry gave no digest for {target}", fix=fix)
    return str(digest)
