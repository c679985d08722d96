"""File name, METADATA and WHEEL tell one story."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.tags import parse_tag
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.wheels.findings import Finding
from harness.wheels.wheel import Wheel

FIX = "build the wheel again; never rename one"


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report disagreements of name, version and tags."""
    if wheel.dist_info is None:
        yield Finding(
            "dist-info",
            wheel.filename,
            "expected exactly one .dist-info folder",
            found=", ".join(sorted({n.split("/")[0] for n in wheel.files if "/" in n})),
            fix=FIX,
        )
        return
    for name in ("METADATA", "WHEEL"):
        if wheel.read_info(name) is None:
            yield Finding("dist-info", wheel.filename, f"{name} is missing", fix=FIX)
    yield from _name(wheel)
    yield from _version(wheel)
    yield from _tags(wheel)
    major = str(wheel.wheel_headers["Wheel-Version"] or "").split(".")[0]
    if major != "1":
        yield Finding(
            "wheel-version",
            wheel.filename,
            "the wheel format is not version 1",
            member=f"{wheel.dist_info}/WHEEL",
            expected="1.x",
            found=str(wheel.wheel_headers["Wheel-Version"]),
            fix=FIX,
        )


def _name(wheel: Wheel) -> Iterator[Finding]:
    folder = str(wheel.dist_info).removesuffix(".dist-info").rpartition("-")[0]
    for member, name in (
        (f"{wheel.dist_info}/METADATA", str(wheel.metadata["Name"])),
        (str(wheel.dist_info), folder),
    ):
        if canonicalize_name(name) != wheel.name:
            yield Finding(
                "name-mismatch",
                wheel.filename,
                "the file name and the wheel name different distributions",
                member=member,
                expected=wheel.name,
                found=name,
                fix=FIX,
            )


def _version(wheel: Wheel) -> Iterator[Finding]:
    folder = str(wheel.dist_info).removesuffix(".dist-info").rpartition("-")[2]
    for member, text in (
        (f"{wheel.dist_info}/METADATA", str(wheel.metadata["Version"])),
        (str(wheel.dist_info), folder.replace("_", "-")),
    ):
        try:
            same = Version(text) == wheel.version
        except InvalidVersion:
            same = False
        if not same:
            yield Finding(
                "version-mismatch",
                wheel.filename,
                "the file name and the wheel give different versions",
                member=member,
                expected=str(wheel.version),
                found=text,
                fix=FIX,
            )


def _tags(wheel: Wheel) -> Iterator[Finding]:
    listed = wheel.wheel_headers.get_all("Tag") or []
    try:
        inside = {tag for text in listed for tag in parse_tag(str(text))}
    except ValueError:
        inside = set()
    if inside != wheel.tags:
        yield Finding(
            "tag-mismatch",
            wheel.filename,
            "the file name and WHEEL give different tags",
            member=f"{wheel.dist_info}/WHEEL",
            expected=" ".join(sorted(map(str, wheel.tags))),
            found=" ".join(sorted(map(str, inside))) or "none",
            fix=FIX,
        )
