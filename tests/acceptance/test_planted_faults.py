"""Faults of a real wheelhouse and a real image: the smoke run turns red and names each.

Three more are planted on small programs: a case without assertion (tests/harness/smoke/
test_case.py), a half-written report and a dropped trace line (test_acceptance.py there).
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.smoke.image_facts import inspect
from harness.smoke.lanes.host import find_interpreter
from harness.smoke.lanes.image import ImageLane
from harness.smoke.offline import Cut, find_cut, listener
from harness.smoke.plan import load_house
from harness.smoke.prepare import WheelhouseUnderTest, prepare_image
from harness.smoke.prepare_host import offline_bench, prepare_host
from harness.smoke.result import Result
from harness.wheels.audit import audit
from harness.wheels.manifest import MANIFEST
from tests.acceptance.rewrite import copy_house, read_member, rewrite_wheel

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

Failures = dict[str, str]


def failures(results: list[Result]) -> Failures:
    """Return the failed checks and what they say; there must be some that passed too."""
    return {r.case: "\n".join(r.problems) for r in results if r.verdict == "failed"}


@pytest.fixture
def planted(house: WheelhouseUnderTest, tmp_path: Path) -> Path:
    """A copy of the wheelhouse to plant a fault in."""
    return copy_house(house.folder, tmp_path / "house")


@pytest.fixture
def smoke_host(tmp_path: Path) -> Callable[..., Failures]:
    """Install a wheelhouse and check the environment, as the host lane does."""

    def run(folder: Path, cut: Cut | None = None) -> Failures:
        with listener() as port:
            interpreter = find_interpreter(sys.executable)
            house = load_house(folder)
            cut_ = cut or find_cut()
            bench = offline_bench("host", interpreter, tmp_path / "lane", house, cut_)
            prepared = prepare_host(bench, port)
        return failures(prepared.results)

    return run


Smoke = Callable[..., Failures]


def test_nothing_planted(planted: Path, smoke_host: Smoke) -> None:
    assert smoke_host(planted) == {}
    assert [f for f in audit(planted).findings if f.severity == "error"] == []


def test_wheel_byte_changed(planted: Path, smoke_host: Smoke) -> None:
    (path,) = planted.glob("rich-*.whl")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    said = smoke_host(planted)
    assert list(said) == ["install"]
    assert "DO NOT MATCH THE HASHES" in said["install"]
    assert "rich" in said["install"]
    assert any(f.file == path.name for f in audit(planted).findings)


def test_sibling_pin_off(planted: Path, smoke_host: Smoke) -> None:
    metadata = read_member(planted, "replay-sim", "*/METADATA")
    assert b"Requires-Dist: rich>=14\n" in metadata
    pinned = metadata.replace(b"rich>=14\n", b"rich==14.0.0\n")
    rewrite_wheel(planted, "replay-sim", {"*/METADATA": pinned})
    said = smoke_host(planted)
    assert list(said) == ["install"]
    assert "rich==14.0.0" in said["install"]
    (finding,) = audit(planted).findings
    assert (finding.code, finding.expected) == ("requirement-unmet", "rich==14.0.0")


def test_wrong_revision(planted: Path, smoke_host: Smoke) -> None:
    path = planted / MANIFEST
    revision = load_house(planted).manifest.revision
    path.write_text(path.read_text("utf-8").replace(revision, "c" * 40), "utf-8")
    said = smoke_host(planted)
    assert list(said) == ["revisions"]
    for place in ("kv_router.__revision__", "replay_sim.__revision__", "replay-sim --version"):
        assert f"{place}: expected {'c' * 40}, found {revision}" in said["revisions"]


def test_missing_entry_point(planted: Path, smoke_host: Smoke) -> None:
    rewrite_wheel(planted, "replay-sim", {"*/entry_points.txt": None})
    said = smoke_host(planted)
    assert "the wheel of replay-sim declares no command replay-sim" in said["entry-points"]


def test_extension_from_elsewhere_on_the_path(
    planted: Path, smoke_host: Smoke, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (wheel,) = planted.glob("kv_router-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(elsewhere)
    path_file = f"import sys; sys.path.insert(0, {str(elsewhere)!r})\n".encode()
    rewrite_wheel(planted, "rich", {"elsewhere.pth": path_file})
    said = smoke_host(planted)
    assert f"kv_router._core was imported from {elsewhere}" in said["imported-files"]
    assert f"{elsewhere}/kv_router/_core.abi3.so was loaded from" in said["loaded-extensions"]


def test_file_that_uninstalling_leaves(planted: Path, smoke_host: Smoke) -> None:
    """A wheel whose path file writes into site-packages when the interpreter starts."""
    program = "import pathlib, site; pathlib.Path(site.getsitepackages()[0], 'left').touch()\n"
    rewrite_wheel(planted, "rich", {"writes.pth": program.encode()})
    said = smoke_host(planted)
    assert list(said) == ["uninstall"]
    assert "site-packages/left was left behind" in said["uninstall"]


def test_network_not_cut(planted: Path, smoke_host: Smoke) -> None:
    said = smoke_host(planted, Cut((), "not cut"))
    assert list(said) == ["network-off"]
    assert "a listener on the host's loopback was reached" in said["network-off"]


def test_image_runs_as_root(cpu_lane: ImageLane, house: WheelhouseUnderTest) -> None:
    repository, tag = "replay-smoke", f"planted-root-{os.getpid()}"
    name = f"{repository}:{tag}"
    container = cpu_lane.client.containers.create(cpu_lane.facts.id)
    try:
        container.commit(repository, tag, conf={"User": "0:0"})
    finally:
        container.remove()
    try:
        facts = inspect(cpu_lane.client, name)
        lane = replace(cpu_lane, name=name, facts=facts)
        with listener() as port:
            sound = failures(prepare_image(cpu_lane, house, port).results)
            said = failures(prepare_image(lane, house, port).results)
    finally:
        cpu_lane.client.images.remove(name)
    assert sound == {}
    assert list(said) == ["image-privileges"], said
    assert "it runs as uid 0" in said["image-privileges"]


def test_image_of_other_wheels(cpu_lane: ImageLane, planted: Path) -> None:
    """An image that was built from another wheelhouse is not the one under release."""
    changed = read_member(planted, "rich", "rich/__init__.py") + b"\n# other\n"
    rewrite_wheel(planted, "rich", {"rich/__init__.py": changed})
    with listener() as port:
        said = failures(prepare_image(cpu_lane, load_house(planted), port).results)
    assert list(said) == ["installed-bytes"]
    assert "rich/__init__.py: expected the bytes of rich-" in said["installed-bytes"]
