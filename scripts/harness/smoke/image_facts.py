"""What an image is, from the engine's side: configuration and files, without starting it."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import RawIOBase
from typing import TYPE_CHECKING, Any, cast

from harness.errors import InputError
from harness.smoke.containers import LABEL, owner

if TYPE_CHECKING:
    import docker

REVISION_LABEL = "org.opencontainers.image.revision"


@dataclass(frozen=True)
class ImageFile:
    """A regular file: path without a leading slash, permission bits, size in bytes."""

    path: str
    mode: int
    size: int


@dataclass(frozen=True)
class ImageFacts:
    """An image's id, its size in bytes, the user that it starts as, labels, and regular files."""

    name: str
    id: str
    size: int
    user: str
    labels: dict[str, str]
    entrypoint: tuple[str, ...]
    files: tuple[ImageFile, ...]


def inspect(client: docker.DockerClient, name: str) -> ImageFacts:
    """Return an image's facts; raises InputError where the engine does not have it."""
    from docker.errors import ImageNotFound

    try:
        attributes: dict[str, Any] = client.images.get(name).attrs
    except ImageNotFound as error:
        raise InputError("the engine has no such image", where=name, fix="make images") from error
    config = attributes["Config"]
    return ImageFacts(
        name=name,
        id=attributes["Id"],
        size=attributes["Size"],
        user=config.get("User") or "",
        labels=config.get("Labels") or {},
        entrypoint=tuple(config.get("Entrypoint") or ()),
        files=tuple(_files(client, attributes["Id"])),
    )


def _files(client: docker.DockerClient, image_id: str) -> Iterator[ImageFile]:
    # A container that is never started shows what the image's own user may not even look at.
    container = client.containers.create(image_id, network_mode="none", labels={LABEL: owner()})
    try:
        stream = cast("Any", _Stream(cast("Any", container.export())))
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.isreg() or member.islnk():
                    yield ImageFile(member.name.removeprefix("./"), member.mode, member.size)
    finally:
        container.remove(force=True)


class _Stream(RawIOBase):
    """The chunks of an engine's answer as a file that tarfile can read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        """Return True: it is read from start to end."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; fewer only at the end."""
        parts, wanted = [], size
        while wanted:
            if not self._rest:
                self._rest = next(self._chunks, b"")
                if not self._rest:
                    break
            part, self._rest = self._rest[:wanted], self._rest[wanted:]
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)
