"""Docker archives: the same content gives the same bytes, whatever the clock said."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from harness.images import archive

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

EPOCH = 1_700_000_000
CONFIG = {"Env": ["A=1"], "User": "10001:10001", "Labels": {"b": "2", "a": "1"}}


def layer(path: Path, mtime: float, names: tuple[str, ...] = ("b", "a")) -> Path:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            info.mtime = mtime  # fractions come from real engines
            info.uname = "somebody"
            tar.addfile(info, io.BytesIO(b"abc"))
        link = tarfile.TarInfo("0-hard-link")
        link.type = tarfile.LNKTYPE
        link.linkname = "a"
        link.mtime = int(mtime)
        tar.addfile(link)
    return path


def saved(path: Path, top: Path, base: Path, created: str) -> Path:
    """Write what `docker save` would."""
    digests = [archive.digest_of(base), archive.digest_of(top)]
    document = {
        "created": created,
        "config": {**CONFIG, "Hostname": "", "OnBuild": None},
        "rootfs": {"type": "layers", "diff_ids": digests},
        "history": [{"created": created, "created_by": "base"}, {"created_by": "COPY"}],
    }
    manifest = [{"Config": "c.json", "RepoTags": ["x:y"], "Layers": ["1/layer.tar", "2/layer.tar"]}]
    with tarfile.open(path, "w") as tar:
        for name, blob in (
            ("c.json", json.dumps(document).encode()),
            ("1/layer.tar", base.read_bytes()),
            ("2/layer.tar", top.read_bytes()),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(blob)
            tar.addfile(info, io.BytesIO(blob))
    return path


def normalise(folder: Path, source: Path, keep: set[str], name: str) -> tuple[str, Path]:
    target, scratch = folder / name, folder / f"{name}-scratch"
    scratch.mkdir()
    image_id = archive.normalise(
        source, target, keep=keep, tags=["t:1"], epoch=EPOCH, scratch=scratch
    )
    return image_id, target


def test_two_builds_at_different_times_become_one_image(tmp_path: Path) -> None:
    base = layer(tmp_path / "base", 1)
    one = saved(
        tmp_path / "one", layer(tmp_path / "l1", EPOCH + 5.25), base, "2026-01-01T00:00:00Z"
    )
    two = saved(
        tmp_path / "two",
        layer(tmp_path / "l2", EPOCH + 99, ("a", "b")),
        base,
        "2027-01-01T00:00:00Z",
    )
    assert one.read_bytes() != two.read_bytes()
    keep = {archive.digest_of(base)}
    first, second = normalise(tmp_path, one, keep, "n1"), normalise(tmp_path, two, keep, "n2")
    assert first[0] == second[0]
    assert first[1].read_bytes() == second[1].read_bytes()


def test_other_content_is_another_image(tmp_path: Path) -> None:
    base = layer(tmp_path / "base", 1)
    one = saved(tmp_path / "one", layer(tmp_path / "l1", EPOCH), base, "x")
    two = saved(tmp_path / "two", layer(tmp_path / "l2", EPOCH, ("a", "c")), base, "x")
    keep = {archive.digest_of(base)}
    assert normalise(tmp_path, one, keep, "n1")[0] != normalise(tmp_path, two, keep, "n2")[0]


def test_the_base_layer_stays_byte_for_byte_and_is_shared(tmp_path: Path) -> None:
    base = layer(tmp_path / "base", EPOCH + 7.5)
    source = saved(tmp_path / "one", layer(tmp_path / "l1", EPOCH), base, "x")
    _, kept = normalise(tmp_path, source, {archive.digest_of(base)}, "kept")
    _, rewritten = normalise(tmp_path, source, set(), "rewritten")

    def digests(path: Path) -> list[str]:
        with tarfile.open(path) as tar:
            entry = json.load(tar.extractfile("manifest.json"))[0]  # type: ignore[arg-type]
            config = json.load(tar.extractfile(entry["Config"]))  # type: ignore[arg-type]
            return list(config["rootfs"]["diff_ids"])

    assert digests(kept)[0] == archive.digest_of(base)
    assert digests(rewritten)[0] != archive.digest_of(base)


def test_times_are_clamped_and_links_follow_their_targets(tmp_path: Path) -> None:
    source = layer(tmp_path / "layer", EPOCH + 1.5)
    with source.open("rb") as stream:
        archive.normalise_layer(stream, tmp_path / "out", EPOCH)
    with tarfile.open(tmp_path / "out") as tar:
        members = tar.getmembers()
    assert [member.name for member in members] == ["a", "b", "0-hard-link"]
    assert {member.mtime for member in members} == {EPOCH}
    assert {member.uname for member in members} == {""}
    # Older times stay: a base's files keep theirs.
    source = layer(tmp_path / "old", 5)
    with source.open("rb") as stream:
        archive.normalise_layer(stream, tmp_path / "out", EPOCH)
    with tarfile.open(tmp_path / "out") as tar:
        assert {member.mtime for member in tar.getmembers()} == {5}


def test_the_configuration_keeps_what_matters(tmp_path: Path) -> None:
    base = layer(tmp_path / "base", 1)
    source = saved(tmp_path / "one", layer(tmp_path / "l1", EPOCH), base, "x")
    _, target = normalise(tmp_path, source, set(), "n")
    with tarfile.open(target) as tar:
        entry = json.load(tar.extractfile("manifest.json"))[0]  # type: ignore[arg-type]
        document = json.load(tar.extractfile(entry["Config"]))  # type: ignore[arg-type]
    assert document["config"] == CONFIG
    assert document["created"] == "2023-11-14T22:13:20Z"
    assert [row["created_by"] for row in document["history"]] == ["base", "COPY"]
    assert entry["RepoTags"] == ["t:1"]
