"""The rules for our own wheels, and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli import main
from tests.harness.wheels.conftest import Auditor, codes
from tests.harness.wheels.elf_factory import extension
from tests.harness.wheels.test_manifest import write_house
from tests.harness.wheels.wheel_factory import REVISION, TREE, WheelSpec, first_party

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

OURS = ("kv-router",)
INFO = {"revision": REVISION, "tree": TREE, "dirty": False, "version": "0.13.0"}


def with_info(**changes: object) -> WheelSpec:
    spec = first_party(extension=extension())
    spec.members["kv_router/build-info.json"] = json.dumps({**INFO, **changes}).encode()
    return spec


def test_sound(findings: Auditor) -> None:
    assert findings(with_info(), first_party=OURS) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"revision": "unknown"},
        {"revision": REVISION[:12]},
        {"revision": f"{REVISION}+dirty"},
        {"version": "0.12.9"},
        {"dirty": True},
        {"dirty": True, "revision": f"{REVISION}+dirty"},
    ],
    ids=str,
)
def test_false_build_information(findings: Auditor, change: dict[str, object]) -> None:
    assert codes(findings(with_info(**change), first_party=OURS)) == ["source-revision"]


def test_dirty_is_in_version_and_revision_too(findings: Auditor) -> None:
    spec = with_info(dirty=True, version="0.13.0+dirty", revision=f"{REVISION}+dirty")
    spec.version = "0.13.0+dirty"
    assert findings(spec, first_party=OURS) == ()


@pytest.mark.parametrize("data", [b"", b"[]", b'{"revision": "x"}'])
def test_unreadable_build_information(findings: Auditor, data: bytes) -> None:
    spec = with_info()
    spec.members["kv_router/build-info.json"] = data
    assert codes(findings(spec, first_party=OURS)) == ["source-revision"]


def test_no_licence(findings: Auditor) -> None:
    spec = with_info()
    spec.headers = ()
    assert codes(findings(spec, first_party=OURS)) == ["licence", "licence"]


def test_licence_file_left_out(findings: Auditor) -> None:
    spec = with_info()
    del spec.info["licenses/LICENSE"]
    assert codes(findings(spec, first_party=OURS)) == ["licence"]


def test_no_bill_of_materials_is_a_warning(findings: Auditor) -> None:
    spec = with_info()
    del spec.info["sboms/rust.cyclonedx.json"]
    (finding,) = findings(spec, first_party=OURS)
    assert (finding.code, finding.severity) == ("sbom", "warning")


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]"])
def test_unreadable_bill_of_materials(findings: Auditor, data: bytes) -> None:
    spec = with_info()
    spec.info["sboms/rust.cyclonedx.json"] = data
    (finding,) = findings(spec, first_party=OURS)
    assert (finding.code, finding.severity) == ("sbom", "error")


def test_extension_for_one_python(findings: Auditor) -> None:
    spec = with_info()
    spec.tag = "cp311-cp311-manylinux_2_17_x86_64"
    data = spec.members.pop("kv_router/_core.abi3.so")
    spec.members["kv_router/_core.cpython-311-x86_64-linux-gnu.so"] = data
    assert codes(findings(spec, first_party=OURS)) == ["first-party-abi"]


def test_requires_python_below_the_tag(findings: Auditor) -> None:
    spec = with_info()
    spec.headers = tuple(header.replace("3.11", "3.9") for header in spec.headers)
    (finding,) = findings(spec, first_party=OURS)
    assert (finding.code, finding.expected) == ("first-party-python", ">=3.11")
    # Others may ship a second wheel for the older ones.
    assert findings(spec) == ()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_house(tmp_path)
    assert main(["wheels", "audit", str(tmp_path)]) == 0
    assert "3 wheels audited: 0 errors, 0 warnings" in capsys.readouterr().out

    WheelSpec(name="evil", metadata_name="other").write(tmp_path)
    assert main(["wheels", "audit", str(tmp_path), "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["summary"] == {"wheels": 4, "errors": 3, "warnings": 0}
    assert {f["code"] for f in report["findings"]} >= {"name-mismatch", "manifest-unlisted"}

    assert main(["wheels", "audit", str(tmp_path), "--first-party", "simw"]) == 1
    assert "error[source-revision] simw-0.13.0" in capsys.readouterr().out


def test_command_line_without_house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wheels", "audit", str(tmp_path / "absent")]) == 2
    assert "no such wheelhouse" in capsys.readouterr().err
