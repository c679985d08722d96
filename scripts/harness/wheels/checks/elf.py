"""What the machine code really needs, against what the platform tag promises."""

from __future__ import annotations

from collections.abc import Iterator

from harness.wheels import manylinux
from harness.wheels.elf import Elf, UnreadableElfError, read_elf
from harness.wheels.findings import Finding
from harness.wheels.wheel import Wheel

REBUILD = "link against an older system (maturin --zig) or raise the tag"


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report needs of any ELF member, executables included, that the tag does not promise."""
    promise = manylinux.promise(tag.platform for tag in wheel.tags)
    bundled = {name.rsplit("/", 1)[-1] for name in wheel.files}
    for member in wheel.elf_members():
        try:
            elf = read_elf(wheel.read(member))
        except UnreadableElfError as error:
            yield Finding(
                "elf-unreadable",
                wheel.filename,
                f"machine code that can't be audited: {error}",
                member=member,
                fix="build the file again; do not strip its section table",
            )
            continue
        yield from _search_paths(wheel, member, elf)
        if promise is not None:
            yield from _machine(wheel, member, elf, promise)
            yield from _versions(wheel, member, elf, promise)
            yield from _libraries(wheel, member, elf, bundled)


def _machine(wheel: Wheel, member: str, elf: Elf, promise: manylinux.Promise) -> Iterator[Finding]:
    expected = manylinux.machine(promise.arch)
    if expected is not None and expected != (elf.machine, elf.bits):
        yield Finding(
            "elf-machine",
            wheel.filename,
            "machine code of another architecture than the tag's",
            member=member,
            expected=f"{promise.arch}: {expected[0]}, {expected[1]} bits",
            found=f"{elf.machine}, {elf.bits} bits",
            fix="build for the target that the tag names",
        )


def _versions(wheel: Wheel, member: str, elf: Elf, promise: manylinux.Promise) -> Iterator[Finding]:
    for need in elf.versions:
        if not promise.admits(need.version):
            symbols = ", ".join(need.symbols) or "no symbol of its own"
            yield Finding(
                "elf-version",
                wheel.filename,
                f"{promise.tag} does not promise {need.version} of {need.library}",
                member=member,
                expected=_newest(promise, need.version),
                found=f"{need.version} ({symbols})",
                fix=REBUILD,
            )


def _newest(promise: manylinux.Promise, version: str) -> str:
    prefix = version.partition("_")[0]
    return f"at most {prefix}_{'.'.join(map(str, promise.newest[prefix]))}"


def _libraries(wheel: Wheel, member: str, elf: Elf, bundled: set[str]) -> Iterator[Finding]:
    allowed = manylinux.allowed_libraries()
    for library in elf.needed:
        if library not in allowed and library not in bundled:
            yield Finding(
                "elf-library",
                wheel.filename,
                "a library that the tag does not promise and the wheel does not carry",
                member=member,
                found=library,
                fix="link it statically or bundle it",
            )


def _search_paths(wheel: Wheel, member: str, elf: Elf) -> Iterator[Finding]:
    for path in elf.search_paths:
        if path.split("/")[0] not in {"$ORIGIN", "${ORIGIN}"}:
            yield Finding(
                "elf-search-path",
                wheel.filename,
                "a library search path that is not relative to the file itself",
                member=member,
                expected="$ORIGIN/…",
                found=path or "an empty path (the current folder)",
                fix="build without -rpath to absolute folders",
            )
