"""Publishing what `make images` made: pushed, pulled again by digest, and the same image."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from harness.engine import Engine, registry
from harness.errors import CheckFailed, InputError
from harness.workspace import Workspace, read_json

RECORD = "images.json"


@dataclass(frozen=True)
class Pushed:
    """An image in a registry.

    Attributes:
        name: "cpu" or "gpu".
        image_id: Content id in the engine.
        tag: REPOSITORY:TAG, which can be moved.
        digest: REPOSITORY@sha256:…, which can't.
    """

    name: str
    image_id: str
    tag: str
    digest: str


def publish(
    workspace: Workspace, engine: Engine, place: str, names: Sequence[str] = ()
) -> dict[str, Any]:
    """Push the images of the last build (or those named); return the build with their digests.

    `place` is HOST[:PORT][/PREFIX].

    Raises:
        InputError: No build, none of that name, a work tree's build, or the tag was moved since.
        ToolError: The registry does not answer or refuses.
        CheckFailed: The registry gives back another image.
    """
    record = _record(workspace)
    known = record["images"]
    for name in names:
        if name not in known:
            raise InputError(f"no image {name!r}", fix=f"one of: {', '.join(known)}")
    pushed = [
        _push(engine, place.rstrip("/"), name, known[name])
        for name in sorted(names or known, key=list(known).index)
    ]
    return {
        "version": record["version"],
        "revision": record["revision"],
        "tree": record["tree"],
        "images": [vars(image) for image in pushed],
    }


def _record(workspace: Workspace) -> dict[str, Any]:
    path = workspace.build / RECORD
    record = read_json(path)
    if not record:
        raise InputError("nothing was built", where=str(path), fix="make images")
    if Version(record["version"]).local:
        raise InputError(
            f"{record['version']} was built from an edited work tree: it is not published",
            where=str(path),
            fix="commit, `harness source bump`, and `make images` without SOURCE=worktree",
        )
    return record


def _push(engine: Engine, place: str, name: str, known: dict[str, Any]) -> Pushed:
    from docker.errors import ImageNotFound

    # The last tag carries the version: unlike the first it never means another build.
    local = known["tags"][-1]
    try:
        found = engine.sdk.images.get(local).id
    except ImageNotFound:
        found = "nothing"
    if found != known["id"]:
        raise InputError(
            f"it is not what was built: expected {known['id']}, found {found}",
            where=local,
            fix="make images",
        )
    fix = f"see that {place} answers and that `docker login` was done where it asks for it"
    tag = f"{place}/{local}"
    try:
        digest = registry.push(engine, local, tag, fix=fix)
        reference = f"{tag.rpartition(':')[0]}@{digest}"
        pulled = registry.pull(engine, reference, fix=fix)
    finally:
        _untag(engine, tag)
    if pulled.id != known["id"]:
        raise CheckFailed(
            f"the registry gives another image: expected {known['id']}, found {pulled.id}",
            where=reference,
            fix="push again; if it stays, something between here and the registry rewrites images",
        )
    return Pushed(name, known["id"], tag, reference)


def _untag(engine: Engine, tag: str) -> None:
    from docker.errors import ImageNotFound

    with contextlib.suppress(ImageNotFound):
        engine.sdk.images.remove(tag, noprune=True)
