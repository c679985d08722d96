"""`harness release check`: green on the built wheelhouse, red on faults of an index."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.release.index import index_of
from harness.smoke.checks.install_report import differences
from harness.smoke.install import install, make_environment, resolve
from harness.smoke.lanes.host import find_interpreter
from harness.smoke.offline import Cut
from harness.smoke.prepare import WheelhouseUnderTest
from harness.wheels.manifest import MANIFEST
from tests.acceptance.conftest import ROOT
from tests.acceptance.rewrite import copy_house, read_member, rewrite_wheel, write_manifest

pytestmark = [pytest.mark.pre_merge, pytest.mark.e2e, pytest.mark.gpu_0]

NOT_CUT = Cut((), "not cut")


@pytest.fixture
def planted(house: WheelhouseUnderTest, tmp_path: Path) -> Path:
    return copy_house(house.folder, tmp_path / "house")


def check(folder: Path, evidence: Path) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Run the command; return its exit code, what each failed check says, and its summary."""
    program = str(Path(sys.executable).with_name("harness"))
    words = ["release", "check", "--wheelhouse", str(folder), "--python", sys.executable]
    done = subprocess.run(
        [program, *words, "--evidence", str(evidence), "--format", "json"],
        cwd=ROOT,
        capture_output=True,
        timeout=110,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    summary = json.loads(done.stdout)
    failed = [r for r in summary["results"] if r["verdict"] == "failed"]
    return done.returncode, {r["case"]: "\n".join(r["problems"]) for r in failed}, summary


def test_nothing_planted(planted: Path, tmp_path: Path) -> None:
    code, failed, summary = check(planted, tmp_path / "evidence")
    assert (code, failed) == (0, {})
    passed = {result["case"] for result in summary["results"]}
    assert {"resolve", "install", "install-report", "pip-check", "revisions"} <= passed
    assert (tmp_path / "evidence" / "summary.json").is_file()


def test_wrong_hash(planted: Path, tmp_path: Path) -> None:
    path = planted / MANIFEST
    document = json.loads(path.read_text("utf-8"))
    (rich,) = (wheel for wheel in document["wheels"] if wheel["name"] == "rich")
    sound, rich["sha256"] = rich["sha256"], "0" * 64
    path.write_text(json.dumps(document), "utf-8")
    code, failed, _ = check(planted, tmp_path / "evidence")
    assert (code, list(failed)) == (1, ["resolve", "install"])
    assert f"rich: expected ('15.0.0', '{'0' * 64}')" in failed["resolve"]
    assert sound in failed["resolve"]
    assert "DO NOT MATCH THE HASHES" in failed["install"]


def test_missing_dependency(planted: Path, tmp_path: Path) -> None:
    (wheel,) = planted.glob("mdurl-*.whl")
    wheel.unlink()
    write_manifest(planted)
    code, failed, _ = check(planted, tmp_path / "evidence")
    assert (code, list(failed)) == (1, ["resolve", "install"])
    for said in failed.values():
        assert "mdurl" in said


def test_sibling_pin_off(planted: Path, tmp_path: Path) -> None:
    """One of our wheels pins the other at a version that is published nowhere."""
    metadata = read_member(planted, "replay-sim", "*/METADATA")
    pinned = metadata.replace(b"rich>=14\n", b"rich>=14\nRequires-Dist: kv-router==0.12.9\n")
    assert pinned != metadata
    rewrite_wheel(planted, "replay-sim", {"*/METADATA": pinned})
    code, failed, _ = check(planted, tmp_path / "evidence")
    assert (code, list(failed)) == (1, ["resolve", "install"])
    assert "kv-router==0.12.9" in failed["resolve"]


def test_wheel_that_nothing_needs(planted: Path, tmp_path: Path) -> None:
    metadata = read_member(planted, "rich", "*/METADATA")
    lines = [line for line in metadata.split(b"\n") if b"pygments" not in line.lower()]
    rewrite_wheel(planted, "rich", {"*/METADATA": b"\n".join(lines)})
    code, failed, _ = check(planted, tmp_path / "evidence")
    assert (code, list(failed)) == (1, ["resolve"])
    assert "pygments: expected (" in failed["resolve"]
    assert "pip took nothing" in failed["resolve"]


def test_everything_comes_from_the_index(house: WheelhouseUnderTest, tmp_path: Path) -> None:
    environment = make_environment(find_interpreter(sys.executable), tmp_path / "here")
    with index_of(house.folder) as origin:
        resolved = resolve(environment, origin, house.manifest.first_party(), NOT_CUT)
        done = install(environment, origin, house.manifest.wheels, NOT_CUT)
        with urllib.request.urlopen(f"{origin.url}simple/", timeout=10) as answer:
            listed = answer.read().decode()
    for installation in (resolved, done):
        assert installation.report is not None
        urls = [item["download_info"]["url"] for item in installation.report["install"]]
        assert len(urls) == len(house.manifest.wheels)
        assert all(url.startswith(origin.url) for url in urls)
        assert list(differences(installation, house.manifest)) == []
        # The same report of an index of another address is refused.
        elsewhere = replace(installation, origin=replace(origin, url="http://127.0.0.1:1/"))
        assert len(list(differences(elsewhere, house.manifest))) == len(urls)
    # The index offers what the wheelhouse holds: the manifest lies there and is no distribution.
    assert "manifest" not in listed
    assert all(f">{entry.name}<" in listed for entry in house.manifest.wheels)


def test_what_the_index_lacks_is_found_nowhere_else(
    house: WheelhouseUnderTest, tmp_path: Path
) -> None:
    """A name that the public index has: a server that falls back would send pip there."""
    environment = make_environment(find_interpreter(sys.executable), tmp_path / "here")
    (rich,) = (entry for entry in house.manifest.wheels if entry.name == "rich")
    with index_of(house.folder) as origin:
        found = resolve(environment, origin, [rich], NOT_CUT)
        absent = resolve(environment, origin, [replace(rich, name="packaging")], NOT_CUT)
    assert found.report is not None
    assert absent.report is None
    assert b"No matching distribution found for packaging" in absent.outcome.stderr
