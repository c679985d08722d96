"""File name, METADATA, WHEEL, payload and commands of a wheel."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from harness.wheels.audit import audit
from tests.harness.wheels.conftest import Auditor, codes
from tests.harness.wheels.wheel_factory import WheelSpec

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def test_tag_disagreement(findings: Auditor) -> None:
    (finding,) = findings(WheelSpec(wheel_tag="cp311-cp311-win_amd64"))
    assert finding.code == "tag-mismatch"
    assert (finding.expected, finding.found) == ("py3-none-any", "cp311-cp311-win_amd64")


def test_name_disagreement(findings: Auditor) -> None:
    (finding,) = findings(WheelSpec(metadata_name="other"))
    assert (finding.code, finding.found) == ("name-mismatch", "other")


def test_name_spellings_agree(findings: Auditor) -> None:
    assert findings(WheelSpec(name="sim-w", metadata_name="Sim_W")) == ()


def test_version_disagreement(findings: Auditor) -> None:
    (finding,) = findings(WheelSpec(metadata_version="0.13.1"))
    assert (finding.code, finding.found) == ("version-mismatch", "0.13.1")


def test_version_spellings_agree(findings: Auditor) -> None:
    assert findings(WheelSpec(version="0.13.0rc1", metadata_version="0.13.0-rc.1")) == ()


def test_no_dist_info(findings: Auditor) -> None:
    spec = WheelSpec(members={"other-1.dist-info/METADATA": b""})
    found = findings(spec)
    assert found[0].code == "dist-info"
    assert found[0].found == "other-1.dist-info, simw-0.13.0.dist-info"


@pytest.mark.parametrize("name", ["METADATA", "WHEEL"])
def test_half_a_dist_info(tmp_path: Path, name: str) -> None:
    path = WheelSpec().write(tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            if not member.endswith(f"/{name}"):
                archive.writestr(member, data)
    messages = [f.message for f in audit(tmp_path).findings if f.code == "dist-info"]
    assert messages == [f"{name} is missing"]


def test_wheel_format_of_another_age(findings: Auditor) -> None:
    text = b"Wheel-Version: 2.0\nTag: py3-none-any\n"
    (finding,) = findings(WheelSpec(instead={"simw-0.13.0.dist-info/WHEEL": text}))
    assert (finding.code, finding.found) == ("wheel-version", "2.0")


def test_git_lfs_pointer(findings: Auditor) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    (finding,) = findings(WheelSpec(members={"simw/data.bin": pointer}))
    assert (finding.code, finding.member) == ("payload-pointer", "simw/data.bin")


def test_top_level_tests_are_a_warning(findings: Auditor) -> None:
    (finding,) = findings(WheelSpec(members={"tests/__init__.py": b"", "simw/tests/a.py": b""}))
    assert (finding.code, finding.severity) == ("payload-top-level", "warning")
    assert finding.member == "tests/"


def test_command_without_module(findings: Auditor) -> None:
    script = {"entry_points.txt": b"[console_scripts]\nsimw = simw.cli:main\n"}
    (finding,) = findings(WheelSpec(info=script))
    assert (finding.code, finding.expected) == ("entry-point", "simw/cli.py")


def test_commands_that_can_not_be_read(findings: Auditor) -> None:
    (finding,) = findings(WheelSpec(info={"entry_points.txt": b"simw = simw:main\n"}))
    assert (finding.code, finding.message) == ("entry-point", "entry_points.txt can't be read")


@pytest.mark.parametrize("member", ["simw/cli.py", "simw/cli/__init__.py", "simw/cli.abi3.so"])
def test_command_with_module(findings: Auditor, member: str) -> None:
    script = {"entry_points.txt": b"[console_scripts]\nsimw = simw.cli:main\n"}
    found = findings(WheelSpec(members={member: b""}, info=script))
    assert "entry-point" not in codes(found)
