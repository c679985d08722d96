"""What an ELF file needs from the system that loads it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache

from elftools.elf.dynamic import DynamicSection, DynamicTag
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

# Bit 15 of a .gnu.version entry hides the symbol; the rest is the version's index.
VERSION_INDEX = 0x7FFF


class UnreadableElfError(Exception):
    """The file starts like ELF and can't be read as such."""


@dataclass(frozen=True)
class VersionNeed:
    """A versioned need, e.g. GLIBC_2.17 of libc.so.6, and the symbols that have it (sorted)."""

    library: str
    version: str
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Elf:
    """The facts of one file. `machine` is the ELF name, e.g. EM_X86_64; `bits` is 32 or 64."""

    machine: str
    bits: int
    needed: tuple[str, ...]
    search_paths: tuple[str, ...]
    versions: tuple[VersionNeed, ...]
    undefined: frozenset[str]


@lru_cache(maxsize=256)
def read_elf(data: bytes) -> Elf:
    """Read an ELF file; raises UnreadableElfError where its tables can't be followed.

    A file that is loaded dynamically but has no section table is refused too: its needs are
    there, only out of sight, and an audit must not read "can't see" as "needs nothing".
    """
    try:
        file = ELFFile(io.BytesIO(data))
        dynamic = [s for s in file.iter_sections() if isinstance(s, DynamicSection)]
        segments = {segment["p_type"] for segment in file.iter_segments()}
        if "PT_DYNAMIC" in segments and not dynamic:
            raise UnreadableElfError("it has a dynamic segment but no section table")
        tags = [tag for section in dynamic for tag in section.iter_tags()]
        return Elf(
            machine=str(file["e_machine"]),
            bits=file.elfclass,
            needed=tuple(_value(tag, "needed") for tag in tags if tag.entry.d_tag == "DT_NEEDED"),
            search_paths=_search_paths(tags),
            versions=_version_needs(file),
            undefined=frozenset(_undefined(file)),
        )
    except UnreadableElfError:
        raise
    except Exception as error:
        # pyelftools lets a damaged table surface as whatever the lookup raised.
        raise UnreadableElfError(f"{type(error).__name__}: {error}") from error


def _value(tag: DynamicTag, name: str) -> str:
    # pyelftools sets the string of a tag as an attribute that is named after it.
    return str(getattr(tag, name))


def _search_paths(tags: list[DynamicTag]) -> tuple[str, ...]:
    names = {"DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
    values = [_value(tag, names[tag.entry.d_tag]) for tag in tags if tag.entry.d_tag in names]
    return tuple(part for value in values for part in value.split(":"))


def _dynamic_symbols(file: ELFFile) -> SymbolTableSection | None:
    section = file.get_section_by_name(".dynsym")
    return section if isinstance(section, SymbolTableSection) else None


def _undefined(file: ELFFile) -> list[str]:
    table = _dynamic_symbols(file)
    if table is None:
        return []
    return [s.name for s in table.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name]


def _version_needs(file: ELFFile) -> tuple[VersionNeed, ...]:
    # A weak need counts as much as a strong one: the loader of an older system only warns about
    # a missing weak version, but the symbol is not there either.
    symbols: dict[int, list[str]] = {}
    table = _dynamic_symbols(file)
    for section in file.iter_sections():
        if isinstance(section, GNUVerSymSection) and table is not None:
            for number in range(section.num_symbols()):
                index = section.get_symbol(number).entry["ndx"]
                if isinstance(index, int):
                    name = table.get_symbol(number).name
                    symbols.setdefault(index & VERSION_INDEX, []).append(name)
    needs = []
    for section in file.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for library, versions in section.iter_versions():
                for version in versions:
                    names = tuple(sorted(symbols.get(version["vna_other"] & VERSION_INDEX, [])))
                    needs.append(VersionNeed(str(library.name), str(version.name), names))
    return tuple(sorted(needs, key=lambda need: (need.library, need.version)))
