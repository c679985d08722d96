"""The manifest: what it says, that it is stable, and that the audit holds the house to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import CheckFailed, InputError
from harness.wheels import manifest
from harness.wheels.audit import audit
from tests.harness.wheels.conftest import codes
from tests.harness.wheels.elf_factory import extension
from tests.harness.wheels.wheel_factory import REVISION, TREE, WheelSpec, first_party

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

BUILDER = {"rustc": "1.96.0", "image": "sha256:0"}


def write_house(folder: Path) -> Path:
    """Write a sound house: both our wheels, a third-party one, the manifest."""
    first_party("kv-router", extension=extension()).write(folder)
    first_party("replay-sim", extension=extension(), requires=("simw>=0.13",)).write(folder)
    WheelSpec().write(folder)
    return manifest.write(folder, revision=REVISION, tree=TREE, dirty=False, builder=BUILDER)


def test_what_it_says(tmp_path: Path) -> None:
    data = json.loads(write_house(tmp_path).read_text("utf-8"))
    assert data["schema"] == 1
    assert data["source"] == {"revision": REVISION, "tree": TREE, "dirty": False}
    assert data["builder"] == BUILDER
    assert [w["name"] for w in data["wheels"]] == ["kv-router", "replay-sim", "simw"]
    own, _, third = data["wheels"]
    assert (own["first_party"], own["revision"]) == (True, REVISION)
    assert (third["first_party"], third["revision"]) == (False, None)
    assert own["tags"] == [
        "cp311-abi3-manylinux2014_x86_64",
        "cp311-abi3-manylinux_2_17_x86_64",
    ]
    assert own["size"] == (tmp_path / own["filename"]).stat().st_size


def test_same_house_same_bytes(tmp_path: Path) -> None:
    path = write_house(tmp_path)
    first = path.read_bytes(), (tmp_path / manifest.REQUIREMENTS).read_bytes()
    builder = dict(reversed(BUILDER.items()))
    manifest.write(tmp_path, revision=REVISION, tree=TREE, dirty=False, builder=builder)
    assert (path.read_bytes(), (tmp_path / manifest.REQUIREMENTS).read_bytes()) == first
    assert {p.name for p in tmp_path.iterdir() if p.suffix != ".whl"} == {
        manifest.MANIFEST,
        manifest.REQUIREMENTS,
    }


def test_requirements_are_pinned_and_hashed(tmp_path: Path) -> None:
    write_house(tmp_path)
    loaded = manifest.load(tmp_path)
    lines = (tmp_path / manifest.REQUIREMENTS).read_text("utf-8").splitlines()
    assert lines == [f"{w.name}=={w.version} --hash=sha256:{w.sha256}" for w in loaded.wheels]


def test_round_trip(tmp_path: Path) -> None:
    path = write_house(tmp_path)
    assert manifest.load(tmp_path).render() == path.read_text("utf-8")


@pytest.mark.parametrize(
    "change", [{"revision": "c" * 40}, {"tree": "c" * 64}, {"dirty": True}], ids=str
)
def test_wheels_of_other_source_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    write_house(tmp_path)
    (tmp_path / manifest.MANIFEST).unlink()
    says: dict[str, object] = {"revision": REVISION, "tree": TREE, "dirty": False, **change}
    with pytest.raises(CheckFailed, match="built from other source"):
        manifest.write(tmp_path, builder=BUILDER, **says)  # type: ignore[arg-type]
    assert not (tmp_path / manifest.MANIFEST).exists()


def test_one_of_our_wheels_missing(tmp_path: Path) -> None:
    first_party("kv-router").write(tmp_path)
    with pytest.raises(CheckFailed, match="one wheel of replay-sim, found none"):
        manifest.write(tmp_path, revision=REVISION, tree=TREE, dirty=False, builder=BUILDER)


def test_our_wheel_without_build_information(tmp_path: Path) -> None:
    write_house(tmp_path)
    first_party("kv-router", members={"kv_router/__init__.py": b""}).write(tmp_path)
    with pytest.raises(CheckFailed, match=r"kv_router/build-info\.json is not in the wheel"):
        manifest.write(tmp_path, revision=REVISION, tree=TREE, dirty=False, builder=BUILDER)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "source": 3}'])
def test_malformed(tmp_path: Path, text: str) -> None:
    path = write_house(tmp_path)
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match="not a manifest"):
        manifest.load(tmp_path)
    assert codes(audit(tmp_path).findings) == ["manifest-unreadable"]


def test_audit_of_the_sound_house(tmp_path: Path) -> None:
    write_house(tmp_path)
    assert audit(tmp_path).findings == ()


def test_wheel_changed_after_the_manifest(tmp_path: Path) -> None:
    write_house(tmp_path)
    WheelSpec(members={"simw/__init__.py": b"# other\n"}).write(tmp_path)
    found = audit(tmp_path).findings
    assert codes(found) == ["manifest-differs"] * 2
    assert [f.message.split("'s ")[1].split()[0] for f in found] == ["sha256", "size"]


def test_wheel_added_and_wheel_removed(tmp_path: Path) -> None:
    write_house(tmp_path)
    (tmp_path / WheelSpec().filename).unlink()
    added = WheelSpec(version="0.13.1").write(tmp_path)
    found = {finding.code: finding.file for finding in audit(tmp_path).findings}
    assert found == {
        "manifest-absent": WheelSpec().filename,
        "manifest-unlisted": added.name,
    }


def test_manifest_of_another_revision(tmp_path: Path) -> None:
    path = write_house(tmp_path)
    path.write_text(path.read_text("utf-8").replace(REVISION, "c" * 40), "utf-8")
    assert codes(audit(tmp_path).findings) == ["manifest-source"] * 2


def test_no_requirements(tmp_path: Path) -> None:
    write_house(tmp_path)
    (tmp_path / manifest.REQUIREMENTS).unlink()
    assert codes(audit(tmp_path).findings) == ["requirements-differ"]
