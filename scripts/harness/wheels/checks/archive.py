"""The zip archive itself: every member intact, named once, and staying inside the environment."""

from __future__ import annotations

import stat
import zipfile
from collections import Counter
from collections.abc import Iterator

from harness.wheels.findings import Finding
from harness.wheels.wheel import CorruptMemberError, Wheel

FIX = "build the wheel again; never edit one in place"


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report corrupt, duplicate and unsafely named members."""
    yield from _duplicates(wheel)
    for info in wheel.infos:
        reason = _unsafe(info)
        if reason:
            yield Finding("member-unsafe", wheel.filename, reason, member=info.filename, fix=FIX)
        try:
            wheel.read(info.filename)
        except CorruptMemberError as error:
            yield Finding(
                "member-corrupt",
                wheel.filename,
                f"cannot be unpacked: {error}",
                member=info.filename,
                fix=FIX,
            )


def _duplicates(wheel: Wheel) -> Iterator[Finding]:
    # Names that differ only in case are one file on some file systems: the last one would win.
    counts = Counter(info.filename.rstrip("/").casefold() for info in wheel.infos)
    for name, count in sorted(counts.items()):
        if count > 1:
            yield Finding(
                "member-duplicate",
                wheel.filename,
                f"the archive holds {count} members of this name",
                member=name,
                fix=FIX,
            )


def _unsafe(info: zipfile.ZipInfo) -> str | None:
    # orig_filename still has what zipfile cleans away: NUL bytes and foreign separators.
    name = info.orig_filename
    if not name or "\0" in name or any(ord(char) < 32 for char in name):
        return "control characters in the name"
    if "\\" in name or name.startswith("/") or name[1:2] == ":":
        return "an absolute name or one with backslashes"
    if any(part in {"..", "."} for part in name.rstrip("/").split("/")) or "//" in name:
        return "a name that climbs out of its folder"
    if not name.isascii() and not info.flag_bits & 0x800:
        return "a name that is neither ASCII nor marked as UTF-8"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a symbolic link"
    return None
