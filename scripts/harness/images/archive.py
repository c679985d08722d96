"""Docker archives with fixed configuration and times: the same content, the same image id.

The engine stamps the time of the build into configurations and layers, so two builds of the same
content have different ids. An archive that is written here (a base) or rewritten here (a built
image) carries the commit's time only.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

LAYER_CHUNK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"


def _member(name: str, size: int, epoch: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    info.mtime = epoch
    info.mode = 0o644
    return info


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def timestamp(epoch: int) -> str:
    """Return a time as image configurations write it."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write(
    target: Path,
    *,
    layers: list[tuple[str, Path]],
    config: dict[str, Any],
    tags: list[str],
    epoch: int,
    history: list[dict[str, Any]] | None = None,
) -> str:
    """Write a docker-archive and return the image id.

    Args:
        target: The archive.
        layers: Digest ("sha256:…") and uncompressed tar of each layer, lowest first.
        config: OCI run configuration (Env, User, Entrypoint, Labels, …).
        tags: Names that the image gets when it is loaded.
        epoch: Time stamp of the image, seconds.
        history: Rows for `docker history`; default: one for each layer.
    """
    rows = history or [{"created_by": "harness"} for _ in layers]
    document = {
        "architecture": "amd64",
        "os": "linux",
        "created": timestamp(epoch),
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [digest for digest, _ in layers]},
        "history": [{**row, "created": timestamp(epoch)} for row in rows],
    }
    blob = _json(document)
    image_id = hashlib.sha256(blob).hexdigest()
    names = [f"{digest.removeprefix('sha256:')}/layer.tar" for digest, _ in layers]
    manifest = _json([{"Config": f"{image_id}.json", "RepoTags": tags, "Layers": names}])
    with tarfile.open(target, "w") as archive:
        for name, (_, layer) in zip(names, layers, strict=True):
            # Two equal layers are one file.
            if name in archive.getnames():
                continue
            with layer.open("rb") as stream:
                archive.addfile(_member(name, layer.stat().st_size, epoch), stream)
        archive.addfile(_member(f"{image_id}.json", len(blob), epoch), io.BytesIO(blob))
        archive.addfile(_member("manifest.json", len(manifest), epoch), io.BytesIO(manifest))
    return f"sha256:{image_id}"


def digest_of(layer: Path) -> str:
    """Return a layer's digest: the sha256 of the uncompressed tar."""
    with layer.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def normalise_layer(source: IO[bytes], target: Path, epoch: int) -> None:
    """Copy a layer with sorted members and no time later than `epoch`."""
    with (
        tarfile.open(fileobj=source, mode="r:") as old,
        tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=_layer_order):
            member.mtime = min(int(member.mtime), epoch)
            # Fractions of a second and user names differ between hosts.
            member.pax_headers = {
                key: value
                for key, value in member.pax_headers.items()
                if key not in ("mtime", "atime", "ctime")
            }
            member.uname = member.gname = ""
            new.addfile(member, old.extractfile(member) if member.isreg() else None)


def _layer_order(member: tarfile.TarInfo) -> tuple[bool, str]:
    # A hard link needs its target before it.
    return (member.islnk(), member.name)


def normalise(
    source: Path, target: Path, *, keep: set[str], tags: list[str], epoch: int, scratch: Path
) -> str:
    """Rewrite a saved image without the time of its build; return the new image id.

    Args:
        source: What `docker save` wrote.
        target: The new archive.
        keep: Digests of layers that stay as they are (the base's, so that images share them).
        tags: Names of the new image.
        epoch: Time stamp, seconds.
        scratch: A folder for the layers.
    """
    with tarfile.open(source) as archive:
        entry = json.load(_file(archive, "manifest.json"))[0]
        document = json.load(_file(archive, entry["Config"]))
        old_ids = document["rootfs"]["diff_ids"]
        layers = []
        for number, (digest, name) in enumerate(zip(old_ids, entry["Layers"], strict=True)):
            layer = scratch / f"layer-{number}.tar"
            stream = _plain(_file(archive, name))
            if digest in keep:
                with layer.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, LAYER_CHUNK)
            else:
                normalise_layer(stream, layer, epoch)
                digest = digest_of(layer)
            layers.append((digest, layer))
    history = [
        {key: value for key, value in row.items() if key != "created"}
        for row in document.get("history", [])
    ]
    return write(
        target,
        layers=layers,
        config=_run_config(document["config"]),
        tags=tags,
        epoch=epoch,
        history=history,
    )


def _run_config(config: dict[str, Any]) -> dict[str, Any]:
    """Drop what engines add and what is empty."""
    wanted = (
        "Cmd",
        "Entrypoint",
        "Env",
        "Labels",
        "User",
        "WorkingDir",
        "Healthcheck",
        "StopSignal",
    )
    return {key: config[key] for key in wanted if config.get(key)}


def _file(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    stream = archive.extractfile(name)
    assert stream is not None
    return stream


def _plain(stream: IO[bytes]) -> IO[bytes]:
    """Return a layer uncompressed: the containerd image store saves them gzipped."""
    magic = stream.read(len(GZIP_MAGIC))
    stream.seek(0)
    return cast("IO[bytes]", gzip.open(stream)) if magic == GZIP_MAGIC else stream
