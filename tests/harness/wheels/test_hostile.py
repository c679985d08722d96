"""Damaged and hostile wheels: the audit reports, it never breaks."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.wheels.audit import audit
from tests.harness.wheels.elf_factory import extension
from tests.harness.wheels.wheel_factory import first_party

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

NAME = "kv-router"
DIST_INFO = "kv_router-0.13.0.dist-info"
MEMBERS = [f"{DIST_INFO}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")]
MEMBERS += [f"{DIST_INFO}/sboms/x.json", "kv_router/build-info.json"]
LINES = ["Name: x", "Tag: x", "Tag: a-b", "Requires-Dist: ;", "[console_scripts]", "a=b", "{"]
LINES += ["Requires-Python: x", "License-File: ../x", "Root-Is-Purelib: maybe", '"', "\0"]


def audited(folder: Path) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile warns of duplicate names.
        return len(audit(folder, [NAME]).findings)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_bytes_of_the_file_changed(data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        path = first_party(NAME, extension=extension()).write(Path(name))
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            position = data.draw(st.integers(0, len(content) - 1))
            content[position] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        audited(Path(name))


@settings(max_examples=80, deadline=None)
@given(
    member=st.sampled_from(MEMBERS),
    content=st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(str.encode),
        st.lists(st.sampled_from(LINES)).map(lambda lines: "\n".join(lines).encode()),
    ),
)
def test_content_of_the_metadata_changed(member: str, content: bytes) -> None:
    with TemporaryDirectory() as name:
        spec = first_party(NAME, extension=extension())
        if member.endswith("/RECORD"):
            spec.record = content.decode("utf-8", "replace")
        else:
            spec.instead = {member: content}
        spec.write(Path(name))
        audited(Path(name))


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_bytes_of_the_machine_code_changed(data: st.DataObject) -> None:
    content = bytearray(extension(f="GLIBC_2.39"))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as name:
        first_party(NAME, extension=bytes(content)).write(Path(name))
        audited(Path(name))
