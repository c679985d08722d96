"""Rewrites wheels and wheelhouses: RECORD and manifest follow, so that only the fault is left."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

from harness.wheels import manifest
from tests.harness.wheels.wheel_factory import record_line

Changes = dict[str, bytes | None]


def copy_house(source: Path, target: Path) -> Path:
    """Copy a wheelhouse, so that a fault can be planted in it."""
    shutil.copytree(source, target)
    return target


def rewrite_wheel(house: Path, name: str, changes: Changes) -> None:
    """Change members of a wheel (None removes one); "*/X" means X of its .dist-info."""
    (path,) = house.glob(f"{name.replace('-', '_')}-*.whl")
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    record = next(member for member in members if member.endswith(".dist-info/RECORD"))
    del members[record]
    for member, data in changes.items():
        member = member.replace("*", record.rpartition("/")[0])
        if data is None:
            del members[member]
        else:
            members[member] = data
    lines = [record_line(member, data) for member, data in members.items()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        archive.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")
    write_manifest(house)


def read_member(house: Path, name: str, member: str) -> bytes:
    """Return a member of a wheel; "*/X" as in rewrite_wheel."""
    (path,) = house.glob(f"{name.replace('-', '_')}-*.whl")
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if n.endswith(member.replace("*", ".dist-info"))]
        return archive.read(names[0])


def write_manifest(house: Path) -> None:
    """Write the manifest anew for the wheels as they are now."""
    source = json.loads((house / manifest.MANIFEST).read_text("utf-8"))["source"]
    manifest.write(house, builder={}, **source)
