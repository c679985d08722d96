"""Makes wheels: sound ones, and ones with a fault planted in exactly one place."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REVISION = "a" * 40
TREE = "b" * 64
SBOM = b'{"bomFormat": "CycloneDX"}'


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}"


@dataclass
class WheelSpec:
    """A wheel to be written. Change a field to plant a fault; RECORD follows the members."""

    name: str = "simw"
    version: str = "0.13.0"
    build: str = ""
    tag: str = "py3-none-any"
    # What METADATA and WHEEL say, where that is not what the file name says.
    metadata_name: str | None = None
    metadata_version: str | None = None
    wheel_tag: str | None = None
    members: dict[str, bytes] = field(default_factory=lambda: {"simw/__init__.py": b""})
    requires: tuple[str, ...] = ()
    headers: tuple[str, ...] = ("Requires-Python: >=3.11",)
    info: dict[str, bytes] = field(default_factory=dict)
    # In place of what would be written.
    instead: dict[str, bytes] = field(default_factory=dict)
    # Appended after RECORD was made: bytes that it does not describe.
    late: Iterable[tuple[str | zipfile.ZipInfo, bytes]] = ()
    record: str | None = None

    @property
    def dist_info(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}.dist-info"

    @property
    def filename(self) -> str:
        parts = [self.name.replace("-", "_"), self.version, self.build, self.tag]
        return "-".join(part for part in parts if part) + ".whl"

    def all_members(self) -> dict[str, bytes]:
        metadata = [
            "Metadata-Version: 2.4",
            f"Name: {self.metadata_name or self.name}",
            f"Version: {self.metadata_version or self.version}",
            *self.headers,
            *(f"Requires-Dist: {text}" for text in self.requires),
        ]
        wheel = ["Wheel-Version: 1.0", "Generator: tests", "Root-Is-Purelib: true"]
        python, abi, platform = (self.wheel_tag or self.tag).split("-")
        wheel += [f"Tag: {python}-{abi}-{one}" for one in platform.split(".")]
        return {
            **self.members,
            f"{self.dist_info}/METADATA": ("\n".join(metadata) + "\n").encode(),
            f"{self.dist_info}/WHEEL": ("\n".join(wheel) + "\n").encode(),
            **{f"{self.dist_info}/{name}": data for name, data in self.info.items()},
            **self.instead,
        }

    def write(self, folder: Path) -> Path:
        members = self.all_members()
        record = self.record
        if record is None:
            lines = [record_line(name, data) for name, data in members.items()]
            record = "\n".join([*lines, f"{self.dist_info}/RECORD,,"]) + "\n"
        path = folder / self.filename
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
            archive.writestr(f"{self.dist_info}/RECORD", record)
            for late, data in self.late:
                archive.writestr(late, data)
        return path


def first_party(name: str = "kv-router", *, extension: bytes = b"", **changes: Any) -> WheelSpec:
    """Return one of our own wheels, sound unless `changes` says otherwise."""
    package = name.replace("-", "_")
    version = str(changes.get("version", "0.13.0"))
    info = {"revision": REVISION, "tree": TREE, "dirty": False, "version": version}
    members = {
        f"{package}/__init__.py": b"",
        f"{package}/build-info.json": json.dumps(info).encode(),
    }
    if extension:
        members[f"{package}/_core.abi3.so"] = extension
    spec = WheelSpec(
        name=name,
        tag="cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64",
        members=members,
        headers=(
            "Requires-Python: >=3.11",
            "License-Expression: Apache-2.0",
            "License-File: LICENSE",
        ),
        info={"licenses/LICENSE": b"licence text", "sboms/rust.cyclonedx.json": SBOM},
    )
    for field_name, value in changes.items():
        assert hasattr(spec, field_name), field_name
        setattr(spec, field_name, value)
    return spec
