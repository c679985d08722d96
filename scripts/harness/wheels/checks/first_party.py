"""What our own wheels carry beyond what every wheel must: source, licence, bill of materials."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from harness.wheels.checks.tags import is_stable_abi, python_floor
from harness.wheels.findings import Finding
from harness.wheels.first_party import build_info_member, read_build_info
from harness.wheels.wheel import Wheel

# A wheel of an edited work tree says so behind the commit.
REVISION = re.compile(r"[0-9a-f]{40}(?P<dirty>\+dirty)?")


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report a missing or false source revision, licence, bill of materials or abi3 tag."""
    yield from _source(wheel)
    yield from _licence(wheel)
    yield from _bill_of_materials(wheel)
    yield from _python_floor(wheel)
    if any(True for _ in wheel.elf_members()) and not is_stable_abi(wheel):
        yield Finding(
            "first-party-abi",
            wheel.filename,
            "our extension modules are built once for every Python",
            expected="abi3",
            found=" ".join(sorted({tag.abi for tag in wheel.tags})),
            fix="build with pyo3's abi3-py311 feature",
        )


def _source(wheel: Wheel) -> Iterator[Finding]:
    fix = "make wheels"
    try:
        info = read_build_info(wheel)
    except ValueError as error:
        yield Finding("source-revision", wheel.filename, str(error), fix=fix)
        return
    member = build_info_member(wheel.name.replace("-", "_"))
    match = REVISION.fullmatch(str(info.revision))
    if match is None:
        yield Finding(
            "source-revision",
            wheel.filename,
            "the source revision is not a full commit id",
            member=member,
            expected="40 hex digits, and +dirty for an edited work tree",
            found=str(info.revision),
            fix=fix,
        )
    try:
        same = Version(str(info.version)) == wheel.version
    except InvalidVersion:
        same = False
    if not same:
        yield Finding(
            "source-revision",
            wheel.filename,
            "the build information is that of another version",
            member=member,
            expected=str(wheel.version),
            found=str(info.version),
            fix=fix,
        )
    marks = {info.dirty, wheel.version.local == "dirty"}
    if match is not None:
        marks.add(match["dirty"] is not None)
    if len(marks) > 1:
        yield Finding(
            "source-revision",
            wheel.filename,
            "version, revision and build information disagree on local edits",
            member=member,
            expected="+dirty in version and revision exactly where dirty is true",
            found=f"version {wheel.version}, revision {info.revision}, dirty {info.dirty}",
            fix=fix,
        )


def _licence(wheel: Wheel) -> Iterator[Finding]:
    fix = "set license and license-files in the crate's pyproject.toml"
    member = f"{wheel.dist_info}/METADATA"
    if not wheel.metadata["License-Expression"]:
        yield Finding(
            "licence", wheel.filename, "METADATA has no License-Expression", member=member, fix=fix
        )
    names = [str(name) for name in wheel.metadata.get_all("License-File") or []]
    if not names:
        yield Finding(
            "licence", wheel.filename, "METADATA names no License-File", member=member, fix=fix
        )
    for name in names:
        if wheel.read_info(f"licenses/{name}") is None:
            yield Finding(
                "licence",
                wheel.filename,
                "METADATA names a licence file that the wheel does not carry",
                member=f"{wheel.dist_info}/licenses/{name}",
                fix=fix,
            )


def _bill_of_materials(wheel: Wheel) -> Iterator[Finding]:
    folder = f"{wheel.dist_info}/sboms/"
    members = [name for name in wheel.files if name.startswith(folder)]
    if not members:
        yield Finding(
            "sbom",
            wheel.filename,
            "no bill of materials (PEP 770)",
            member=folder,
            fix="let maturin write it",
            severity="warning",
        )
    for member in members:
        try:
            data = json.loads(wheel.read(member))
            known = isinstance(data, dict) and (
                data.get("bomFormat") == "CycloneDX" or "spdxVersion" in data
            )
        except ValueError:
            known = False
        if not known:
            yield Finding(
                "sbom",
                wheel.filename,
                "the bill of materials is neither CycloneDX nor SPDX JSON",
                member=member,
                fix="let maturin write it",
            )


def _python_floor(wheel: Wheel) -> Iterator[Finding]:
    floor = python_floor(wheel)
    text = wheel.metadata["Requires-Python"]
    if floor is None or not is_stable_abi(wheel) or text is None:
        return
    try:
        requires = SpecifierSet(str(text))
    except InvalidSpecifier:
        requires = SpecifierSet()
    below = f"{floor[0]}.{floor[1] - 1}"
    if requires.contains(f"{below}.99"):
        yield Finding(
            "first-party-python",
            wheel.filename,
            "Requires-Python admits a Python that no wheel of ours serves",
            member=f"{wheel.dist_info}/METADATA",
            expected=f">={floor[0]}.{floor[1]}",
            found=str(text),
            fix="align requires-python with the abi3 feature",
        )
