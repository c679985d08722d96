"""The folder as a whole: versions, ownership, requirements; and what pip alone lets through."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.wheels import manifest
from harness.wheels.audit import audit
from tests.harness.wheels.conftest import Auditor, codes
from tests.harness.wheels.elf_factory import extension
from tests.harness.wheels.test_manifest import write_house
from tests.harness.wheels.wheel_factory import WheelSpec, first_party, record_line

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def other(name: str = "other", **changes: object) -> WheelSpec:
    spec = WheelSpec(name=name, members={f"{name}/__init__.py": b""})
    for field_name, value in changes.items():
        assert hasattr(spec, field_name)
        setattr(spec, field_name, value)
    return spec


@pytest.mark.parametrize(
    "second",
    [
        WheelSpec(version="0.13.0+cu128"),
        WheelSpec(version="0.13.0rc1"),
        WheelSpec(build="2"),
        WheelSpec(tag="py2.py3-none-any", wheel_tag="py2.py3-none-any"),
    ],
    ids=["local version", "release candidate", "build", "tag"],
)
def test_two_wheels_of_a_name(findings: Auditor, second: WheelSpec) -> None:
    found = findings(WheelSpec(), second)
    assert "name-twice" in codes(found)


def test_two_owners_of_a_path(findings: Auditor) -> None:
    shared = {"ns/__init__.py": b""}
    (finding,) = findings(other("one", members=shared), other("two", members=shared))
    assert (finding.code, finding.member) == ("path-two-owners", "ns/__init__.py")


def test_two_owners_of_a_command_and_of_a_moved_path(findings: Auditor) -> None:
    script = {"entry_points.txt": b"[console_scripts]\ntool = one:main\n"}
    one = other("one", info=script)
    two = other("two", members={"two-0.13.0.data/purelib/one/__init__.py": b""})
    found = findings(one, two, other("three", info=script, members={"three/one.py": b""}))
    owners = [f.member for f in found if f.code == "path-two-owners"]
    assert owners == ["one/__init__.py", "scripts:tool"]


def test_one_namespace_two_owners_is_fine(findings: Auditor) -> None:
    one = other("one", members={"ns/one.py": b""})
    assert findings(one, other("two", members={"ns/two.py": b""})) == ()


def test_requirement_missing(findings: Auditor) -> None:
    (finding,) = findings(WheelSpec(requires=("other>=1",)))
    assert (finding.code, finding.expected) == ("requirement-missing", "other>=1")


def test_sibling_pin_off_by_one(findings: Auditor) -> None:
    (finding,) = findings(WheelSpec(requires=("other==0.13.0",)), other(version="0.13.1"))
    assert finding.code == "requirement-unmet"
    assert finding.found == "other-0.13.1-py3-none-any.whl"


def test_sibling_pin_is_no_substring(findings: Auditor) -> None:
    found = findings(WheelSpec(requires=("other==0.13.0",)), other(version="0.13.0.post1"))
    assert codes(found) == ["requirement-unmet"]


def test_local_version_where_the_public_one_is_pinned(findings: Auditor) -> None:
    found = findings(WheelSpec(requires=("other==0.13.0",)), other(version="0.13.0+cu128"))
    assert codes(found) == ["requirement-local"]


@pytest.mark.parametrize(
    "requirement",
    [
        "other==0.13.0+cu128",
        "other>=0.12",
        "absent; extra == 'gpu'",
        "absent; sys_platform == 'win32'",
        "absent; python_version < '3.9'",
    ],
)
def test_requirement_met_or_not_needed(findings: Auditor, requirement: str) -> None:
    assert findings(WheelSpec(requires=(requirement,)), other(version="0.13.0+cu128")) == ()


def test_requirement_of_a_later_python_counts(findings: Auditor) -> None:
    found = findings(WheelSpec(requires=("absent; python_version >= '3.14'",)))
    assert codes(found) == ["requirement-missing"]


def test_requirements_of_a_requested_extra_count(findings: Auditor) -> None:
    """Simw asks for other[Fast], which asks for its own [deep], which needs what is absent."""
    needs = ("other[deep]; extra == 'fast'", "absent; extra == 'deep'", "never; extra == 'idle'")
    found = findings(WheelSpec(requires=("other[Fast]",)), other(requires=needs))
    assert [(f.code, f.expected) for f in found] == [
        ("requirement-missing", 'absent; extra == "deep"')
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [("other @ https://example.org/o.whl", "requirement-url"), ("other==", "requirement-invalid")],
)
def test_requirement_that_is_none(findings: Auditor, text: str, code: str) -> None:
    assert codes(findings(WheelSpec(requires=(text,)))) == [code]


def test_no_house(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such wheelhouse"):
        audit(tmp_path / "absent")
    with pytest.raises(InputError, match="holds no wheel"):
        audit(tmp_path)


def test_first_party_name_without_wheel(tmp_path: Path) -> None:
    WheelSpec().write(tmp_path)
    with pytest.raises(InputError, match="no wheel of kv-router"):
        audit(tmp_path, ["kv-router"])


# What pip and pip check accept and a release must not: (wheels, expected code).
RECORD_OF_OTHER_BYTES = "\n".join(
    record_line(name, data) for name, data in WheelSpec().all_members().items()
)
PIP_ACCEPTS = {
    "bytes changed after RECORD": (
        [WheelSpec(members={"simw/__init__.py": b"EVIL = 1"}, record=RECORD_OF_OTHER_BYTES)],
        "record-hash",
    ),
    "tag of another platform inside": (
        [WheelSpec(wheel_tag="cp311-cp311-win_amd64")],
        "tag-mismatch",
    ),
    "another project inside": ([WheelSpec(metadata_name="other")], "name-mismatch"),
    "two owners": (
        [other("one", members={"ns/a.py": b""}), other("two", members={"ns/a.py": b""})],
        "path-two-owners",
    ),
    "local version wins": ([WheelSpec(), WheelSpec(version="0.13.0+cu128")], "name-twice"),
    "older release wins": (
        [WheelSpec(version="0.12.9"), WheelSpec(version="0.13.0rc1")],
        "name-twice",
    ),
    "higher build wins": ([WheelSpec(build="1"), WheelSpec(build="2")], "name-twice"),
    "top-level tests": ([WheelSpec(members={"tests/__init__.py": b""})], "payload-top-level"),
}


@pytest.mark.parametrize("case", PIP_ACCEPTS)
def test_what_pip_accepts(findings: Auditor, case: str) -> None:
    wheels, code = PIP_ACCEPTS[case]
    assert code in codes(findings(*wheels))


def test_what_pip_accepts_hash_on_a_line_of_its_own(tmp_path: Path) -> None:
    write_house(tmp_path)
    path = tmp_path / manifest.REQUIREMENTS
    path.write_text(path.read_text("utf-8").replace(" --hash", "\n--hash"), "utf-8")
    assert codes(audit(tmp_path).findings) == ["requirements-differ"]


def test_third_party_wheels_owe_us_nothing(findings: Auditor) -> None:
    spec = first_party("numpyish", extension=extension(), info={})
    del spec.members["numpyish/build-info.json"]
    spec.headers = ()
    assert findings(spec) == ()
    assert "source-revision" in codes(findings(spec, first_party=("Numpyish",)))
