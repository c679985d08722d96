"""Makes small 64-bit ELF shared objects: dynamic tables only, no code.

The layout is the System V ABI's: ELF header, program headers, .dynstr, .dynsym, .gnu.version,
.gnu.version_r, .dynamic, .shstrtab, section headers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

X86_64 = 62
AARCH64 = 183
WEAK = 2

DT = {"NEEDED": 1, "STRTAB": 5, "SYMTAB": 6, "RPATH": 15, "RUNPATH": 29}
SHT = {"STRTAB": 3, "DYNAMIC": 6, "DYNSYM": 11, "VERNEED": 0x6FFFFFFE, "VERSYM": 0x6FFFFFFF}


class Strings:
    """A string table."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        offset = len(self.data)
        self.data += text.encode() + b"\0"
        return offset


def sysv_hash(name: str) -> int:
    value = 0
    for char in name.encode():
        value = (value << 4) + char
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


@dataclass
class SharedObject:
    """`symbols` maps an undefined symbol to (library, version), or to None: unversioned."""

    symbols: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    needed: tuple[str, ...] = ("libc.so.6",)
    runpath: str | None = None
    machine: int = X86_64
    weak: bool = False
    section_table: bool = True

    def build(self) -> bytes:
        strings = Strings()
        dynsym, versym, verneed, count = self._symbol_tables(strings)
        dynamic = [(DT["NEEDED"], strings.add(name)) for name in self.needed]
        if self.runpath is not None:
            dynamic.append((DT["RUNPATH"], strings.add(self.runpath)))
        names = Strings()
        offset = 64 + 2 * 56
        bodies: list[tuple[str, int, bytes, int, int, int]] = [
            # name, type, body, link, info, entry size
            (".dynstr", SHT["STRTAB"], strings.data, 0, 0, 0),
            (".dynsym", SHT["DYNSYM"], dynsym, 1, 1, 24),
            (".gnu.version", SHT["VERSYM"], versym, 2, 0, 2),
            (".gnu.version_r", SHT["VERNEED"], verneed, 1, count, 0),
        ]
        offsets = []
        for _, _, body, *_ in bodies:
            offsets.append(offset)
            offset += -(-len(body) // 8) * 8
        dynamic += [(DT["STRTAB"], offsets[0]), (DT["SYMTAB"], offsets[1]), (0, 0)]
        table = b"".join(struct.pack("<QQ", *entry) for entry in dynamic)
        bodies.append((".dynamic", SHT["DYNAMIC"], table, 1, 0, 16))
        offsets.append(offset)
        dynamic_offset, offset = offset, offset + len(table)
        name_offsets = [names.add(name) for name, *_ in bodies] + [names.add(".shstrtab")]
        bodies.append((".shstrtab", SHT["STRTAB"], names.data, 0, 0, 0))
        offsets.append(offset)
        offset += -(-len(names.data) // 8) * 8
        sections = bytes(64)
        for (_, kind, body, link, info, size), at, name in zip(
            bodies, offsets, name_offsets, strict=True
        ):
            sections += struct.pack(
                "<IIQQQQIIQQ", name, kind, 2, at, at, len(body), link, info, 8, size
            )
        loads = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, offset, offset, 4096)
        loads += struct.pack("<IIQQQQQQ", 2, 6, *[dynamic_offset] * 3, len(table), len(table), 8)
        shown = len(bodies) + 1 if self.section_table else 0
        header = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
        header += struct.pack(
            "<HHIQQQIHHHHHH",
            3,
            self.machine,
            1,
            0,
            64,
            offset if shown else 0,
            0,
            64,
            56,
            2,
            64,
            shown,
            len(bodies) if shown else 0,
        )
        data = header + loads
        for (_, _, body, *_), at in zip(bodies, offsets, strict=True):
            data = data.ljust(at, b"\0") + body
        return data.ljust(offset, b"\0") + (sections if shown else b"")

    def _symbol_tables(self, strings: Strings) -> tuple[bytes, bytes, bytes, int]:
        versions: dict[tuple[str, str], int] = {}
        dynsym, versym = bytes(24), struct.pack("<H", 0)
        for name, version in self.symbols.items():
            index = 1 if version is None else versions.setdefault(version, len(versions) + 2)
            dynsym += struct.pack("<IBBHQQ", strings.add(name), 0x12, 0, 0, 0, 0)
            versym += struct.pack("<H", index)
        libraries = sorted({library for library, _ in versions})
        verneed = b""
        for number, library in enumerate(libraries):
            own = [(v, index) for (lib, v), index in versions.items() if lib == library]
            last = number == len(libraries) - 1
            following = 0 if last else 16 + 16 * len(own)
            verneed += struct.pack("<HHIII", 1, len(own), strings.add(library), 16, following)
            for place, (text, index) in enumerate(own):
                more = 0 if place == len(own) - 1 else 16
                flags = WEAK if self.weak else 0
                verneed += struct.pack(
                    "<IHHII", sysv_hash(text), flags, index, strings.add(text), more
                )
        return dynsym, versym, verneed, len(libraries)


def extension(**symbols: str) -> bytes:
    """Return a sound abi3 extension, with further glibc symbols: name to version."""
    table: dict[str, tuple[str, str] | None] = {"PyModule_Create2": None}
    table["memcpy"] = ("libc.so.6", "GLIBC_2.14")
    table.update({name: ("libc.so.6", version) for name, version in symbols.items()})
    return SharedObject(table).build()
