"""Images to a real registry on loopback: pulled by digest they are the same, or it is said."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import ImageNotFound

from harness.cli import main
from harness.engine import Engine
from harness.engine import registry as moving
from harness.engine.registry import pull
from harness.errors import CheckFailed, HarnessError, InputError, ToolError
from harness.images import push
from harness.workspace import Workspace, write_json

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

REPOSITORY = f"replay-smoke-push-{os.getpid()}"


def make_image(engine: Engine, tag: str) -> str:
    """Make an image of one small file that no other image has; return its id."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("tag")
        member.size = len(tag)
        archive.addfile(member, io.BytesIO(tag.encode()))
    api = engine.sdk.api
    api.import_image_from_data(stream.getvalue(), repository=REPOSITORY, tag=tag)
    return str(engine.sdk.images.get(f"{REPOSITORY}:{tag}").id)


def forget(engine: Engine) -> None:
    """Remove every image of these tests, pulled ones too."""
    for image in engine.sdk.images.list(all=True):
        names = [*image.tags, *image.attrs.get("RepoDigests", [])]
        if any(REPOSITORY in name for name in names):
            engine.sdk.images.remove(str(image.id), force=True)


@pytest.fixture
def built(engine: Engine, tmp_path: Path) -> Iterator[Workspace]:
    """A checkout that has just built two images."""
    images = {}
    for name in ("cpu", "gpu"):
        tag = f"0.13.0-{name}"
        tags = [f"{REPOSITORY}:{name}", f"{REPOSITORY}:{tag}"]
        images[name] = {"id": make_image(engine, tag), "tags": tags}
    record = {"version": "0.13.0", "revision": "a" * 40, "tree": "b" * 64, "images": images}
    (tmp_path / "build").mkdir()
    write_json(tmp_path / "build" / "images.json", record)
    yield Workspace(tmp_path)
    forget(engine)
    # One that a test took the name from.
    for image in images.values():
        with contextlib.suppress(ImageNotFound):
            engine.sdk.images.remove(str(image["id"]), force=True)


def record(workspace: Workspace) -> dict[str, Any]:
    return dict(json.loads((workspace.build / "images.json").read_text("utf-8")))


def test_an_engine_without_them_pulls_the_same_images(
    engine: Engine, registry: str, built: Workspace
) -> None:
    document = push.publish(built, engine, f"{registry}/team/")
    known = record(built)["images"]
    assert document["revision"] == "a" * 40
    assert [image["name"] for image in document["images"]] == ["cpu", "gpu"]
    forget(engine)
    for image in document["images"]:
        assert image["tag"] == f"{registry}/team/{REPOSITORY}:0.13.0-{image['name']}"
        assert "@sha256:" in image["digest"]
        assert pull(engine, image["digest"], fix="").id == known[image["name"]]["id"]


def test_pushing_again_gives_the_same_digest_and_leaves_no_tag(
    engine: Engine, registry: str, built: Workspace
) -> None:
    first = push.publish(built, engine, registry, ["cpu"])
    assert push.publish(built, engine, registry, ["cpu"]) == first
    assert len(first["images"]) == 1
    tags = engine.sdk.images.get(f"{REPOSITORY}:0.13.0-cpu").tags
    assert not any(registry in tag for tag in tags)


def test_a_registry_that_gives_another_image(
    engine: Engine, registry: str, built: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = push.publish(built, engine, registry, ["gpu"])["images"][0]["digest"]
    other = gpu.partition("@")[2]
    real = moving.push

    def swapped(*args: Any, **options: Any) -> str:
        real(*args, **options)
        return str(other)

    monkeypatch.setattr(moving, "push", swapped)
    with pytest.raises(CheckFailed, match="the registry gives another image") as caught:
        push.publish(built, engine, registry, ["cpu"])
    assert caught.value.where == f"{registry}/{REPOSITORY}@{other}"


def test_a_registry_that_lost_bytes(
    engine: Engine, registry: str, registry_files: Path, built: Workspace
) -> None:
    """A layer that was changed in the registry's storage is not taken for the image."""
    digest = push.publish(built, engine, registry, ["cpu"])["images"][0]["digest"]
    forget(engine)
    assert pull(engine, digest, fix="").id
    forget(engine)
    layers = [
        path
        for path in registry_files.rglob("blobs/sha256/*/*/data")
        if path.read_bytes().startswith(b"\x1f\x8b")
    ]
    assert layers
    for path in layers:
        data = bytearray(path.read_bytes())
        data[-5] ^= 1
        path.write_bytes(data)
    try:
        with pytest.raises(ToolError, match="can't pull"):
            pull(engine, digest, fix="")
    finally:
        for path in layers:
            data = bytearray(path.read_bytes())
            data[-5] ^= 1
            path.write_bytes(data)


def test_a_registry_that_does_not_answer(engine: Engine, built: Workspace) -> None:
    with pytest.raises(ToolError, match="pushing 127") as caught:
        push.publish(built, engine, "127.0.0.1:1")
    assert "docker login" in str(caught.value.fix)
    name = f"{REPOSITORY}:0.13.0-cpu"
    assert engine.sdk.images.get(name).tags == [name]


def edited(workspace: Workspace, **changes: Any) -> Workspace:
    write_json(workspace.build / "images.json", {**record(workspace), **changes})
    return workspace


def refusal(engine: Engine, workspace: Workspace, *names: str) -> HarnessError:
    with pytest.raises(InputError) as caught:
        push.publish(workspace, engine, "127.0.0.1:1", names)
    return caught.value


def test_what_is_not_pushed(engine: Engine, built: Workspace, tmp_path: Path) -> None:
    assert "no image 'tpu'" in refusal(engine, built, "tpu").message
    make_image(engine, "other")
    engine.sdk.images.get(f"{REPOSITORY}:other").tag(REPOSITORY, tag="0.13.0-cpu")
    assert "it is not what was built" in refusal(engine, built, "cpu").message
    engine.sdk.images.remove(f"{REPOSITORY}:0.13.0-cpu", force=True)
    assert "found nothing" in refusal(engine, built, "cpu").message
    dirty = refusal(engine, edited(built, version="0.13.0+dirty"))
    assert "was built from an edited work tree" in dirty.message
    assert refusal(engine, Workspace(tmp_path / "empty")).fix == "make images"


def test_the_built_cpu_image(
    engine: Engine, registry: str, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command, on what `make images` made."""
    code = main(["images", "push", registry, "--image", "cpu", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    (image,) = document["images"]
    assert image["image_id"] == record(Workspace(checkout))["images"]["cpu"]["id"]
    assert image["digest"].startswith(f"{registry}/replay-sim@sha256:")
    assert document["revision"] == record(Workspace(checkout))["revision"]


def test_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_USER", "someone")
    monkeypatch.delenv("REGISTRY_TOKEN", raising=False)
    assert moving.credentials() is None
    monkeypatch.setenv("REGISTRY_TOKEN", "token")
    assert moving.credentials() == {"username": "someone", "password": "token"}
