"""The archive and RECORD: every planted fault is found, and a sound wheel is clean."""

from __future__ import annotations

import stat
import warnings
import zipfile
from pathlib import Path

import pytest

from harness.wheels.audit import audit
from tests.harness.wheels.conftest import Auditor, codes
from tests.harness.wheels.wheel_factory import WheelSpec, record_line

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def test_sound_wheel_is_clean(findings: Auditor) -> None:
    assert findings(WheelSpec()) == ()


def test_bytes_changed_after_record(findings: Auditor) -> None:
    spec = WheelSpec(members={"simw/__init__.py": b"EVIL = True\n"})
    sound = WheelSpec()
    lines = [record_line(name, data) for name, data in sound.all_members().items()]
    spec.record = "\n".join([*lines, f"{spec.dist_info}/RECORD,,"])
    (finding,) = findings(spec)
    assert (finding.code, finding.member) == ("record-hash", "simw/__init__.py")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("simw/__init__.py,,", "record-hash"),
        ("simw/__init__.py,md5=1B2M2Y8AsgTpgAmY7PhCfg,0", "record-hash"),
        (record_line("simw/__init__.py", b"").replace(",0", ",7"), "record-size"),
        ("", "record-unlisted"),
        (
            record_line("simw/__init__.py", b"") + "\n" + record_line("simw/gone.py", b""),
            "record-absent",
        ),
        ("\n".join([record_line("simw/__init__.py", b"")] * 2), "record-duplicate"),
    ],
)
def test_record_line(findings: Auditor, line: str, code: str) -> None:
    spec = WheelSpec()
    rest = [record_line(n, d) for n, d in spec.all_members().items() if not n.startswith("simw/")]
    spec.record = "\n".join([line, *rest, f"{spec.dist_info}/RECORD,,"])
    assert codes(findings(spec)) == [code]


def test_record_missing(tmp_path: Path) -> None:
    sound = WheelSpec().write(tmp_path)
    with zipfile.ZipFile(sound) as archive:
        members = {i.filename: archive.read(i) for i in archive.infolist()}
    with zipfile.ZipFile(sound, "w") as archive:
        for name, data in members.items():
            if not name.endswith("/RECORD"):
                archive.writestr(name, data)
    assert codes(audit(tmp_path).findings) == ["record-missing"]


def test_corrupt_member(tmp_path: Path) -> None:
    text = b"x = 'some text that is stored, not deflated'\n"
    spec = WheelSpec(members={"simw/__init__.py": text})
    path = spec.write(tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = [(i.filename, archive.read(i)) for i in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    assert audit(tmp_path).findings == ()
    data = path.read_bytes()
    assert data.count(text) == 1
    path.write_bytes(data.replace(text, text.replace(b"some", b"same")))
    (finding,) = audit(tmp_path).findings
    assert (finding.code, finding.member) == ("member-corrupt", "simw/__init__.py")


def test_encrypted_member(tmp_path: Path) -> None:
    path = WheelSpec().write(tmp_path)
    data = bytearray(path.read_bytes())
    # Bit 0 of the flags, in the first member's own header and in the archive's directory.
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    (finding,) = audit(tmp_path).findings
    assert (finding.code, finding.member) == ("member-corrupt", "simw/__init__.py")
    assert "encrypted" in finding.message


@pytest.mark.parametrize("name", ["simw/__init__.py", "SIMW/__init__.py"])
def test_duplicate_member(findings: Auditor, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile warns of what is planted here.
        assert codes(findings(WheelSpec(late=[(name, b"EVIL")]))) == ["member-duplicate"]


@pytest.mark.parametrize(
    "name",
    ["../evil.py", "simw/../../evil.py", "/etc/evil", "simw\\evil.py", "C:/evil", "a//b", "a\x01b"],
)
def test_unsafe_name(findings: Auditor, name: str) -> None:
    found = findings(WheelSpec(late=[(name, b"")]))
    assert codes(found) == ["member-unsafe"]


def test_name_in_no_known_encoding(tmp_path: Path) -> None:
    path = WheelSpec(members={"simw/__init__.py": b"", "simw/e.py": b""}).write(tmp_path)
    data = path.read_bytes()
    assert data.count(b"simw/e.py") == 2, "local header and directory; RECORD is deflated"
    path.write_bytes(data.replace(b"simw/e.py", b"simw/\xe9.py"))
    assert "member-unsafe" in codes(audit(tmp_path).findings)


def test_symbolic_link(findings: Auditor) -> None:
    link = zipfile.ZipInfo("simw/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert codes(findings(WheelSpec(late=[(link, b"/etc/passwd")]))) == ["member-unsafe"]


def test_not_a_wheel(tmp_path: Path) -> None:
    (tmp_path / "simw-0.13.0-py3-none-any.whl").write_bytes(b"no zip")
    (tmp_path / "badname.whl").write_bytes(b"")
    found = audit(tmp_path).findings
    assert [(f.code, f.file) for f in found] == [
        ("wheel-unreadable", "badname.whl"),
        ("wheel-unreadable", "simw-0.13.0-py3-none-any.whl"),
    ]
