"""One wheel file, read without installing it or unpacking it to disk."""

from __future__ import annotations

import configparser
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from functools import cached_property
from pathlib import Path

from packaging.tags import Tag
from packaging.utils import BuildTag, InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

ELF_MAGIC = b"\x7fELF"


class UnreadableWheelError(Exception):
    """The file is no wheel: no zip, or its name is not a wheel's."""


class CorruptMemberError(Exception):
    """A member can't be unpacked."""


@dataclass(frozen=True)
class RecordRow:
    """One line of RECORD: `digest` is `algorithm=urlsafe-base64`, empty where RECORD has none."""

    path: str
    digest: str
    size: str


class Wheel:
    """An open wheel. Members are read once and kept; a wheel of this project is under a MB."""

    def __init__(self, path: Path) -> None:
        """Open `path`; raises UnreadableWheelError where it is no wheel."""
        self.path = path
        try:
            name, version, build, tags = parse_wheel_filename(path.name)
        except InvalidWheelFilename as error:
            raise UnreadableWheelError(f"not a wheel's file name: {error}") from error
        self.name: str = name
        self.version: Version = version
        self.build: BuildTag = build
        self.tags: frozenset[Tag] = tags
        self._data: dict[str, bytes] = {}
        try:
            self.file_bytes = path.read_bytes()
            self._zip = zipfile.ZipFile(io.BytesIO(self.file_bytes))
        except OSError as error:
            raise UnreadableWheelError(f"can't be read: {error}") from error
        except Exception as error:
            # A damaged directory surfaces as whatever zipfile stumbled over.
            raise UnreadableWheelError(f"not a zip archive: {error}") from error

    @property
    def filename(self) -> str:
        """The file name, without its folder."""
        return self.path.name

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file, in hex."""
        return hashlib.sha256(self.file_bytes).hexdigest()

    @property
    def infos(self) -> list[zipfile.ZipInfo]:
        """Every entry of the archive's directory, in its order, duplicates included."""
        return self._zip.infolist()

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Names of the members that are files, in archive order."""
        return tuple(info.filename for info in self.infos if not info.is_dir())

    def read(self, member: str) -> bytes:
        """Return a member's bytes; raises CorruptMemberError where they can't be unpacked."""
        if member not in self._data:
            try:
                self._data[member] = self._zip.read(member)
            except Exception as error:
                # CRC, zlib, an unknown method, a header elsewhere, a password: all one to us.
                raise CorruptMemberError(str(error) or type(error).__name__) from error
        return self._data[member]

    def elf_members(self) -> Iterator[str]:
        """Names of the members that are ELF files, whatever their name says."""
        return (name for name in self.files if self.read(name).startswith(ELF_MAGIC))

    @cached_property
    def dist_info(self) -> str | None:
        """Name of the .dist-info folder; None where there is not exactly one."""
        folders = {name.split("/")[0] for name in self.files if "/" in name}
        found = sorted(folder for folder in folders if folder.endswith(".dist-info"))
        return found[0] if len(found) == 1 else None

    def read_info(self, name: str) -> bytes | None:
        """Return a file of the .dist-info folder; None where it is absent."""
        member = f"{self.dist_info}/{name}"
        return self.read(member) if member in self.files else None

    def _headers(self, name: str) -> Message:
        return BytesParser().parsebytes(self.read_info(name) or b"")

    @cached_property
    def metadata(self) -> Message:
        """The headers of METADATA; empty where it is absent."""
        return self._headers("METADATA")

    @cached_property
    def wheel_headers(self) -> Message:
        """The headers of WHEEL; empty where it is absent."""
        return self._headers("WHEEL")

    @cached_property
    def record(self) -> tuple[RecordRow, ...] | None:
        """The rows of RECORD; None where it is absent or no CSV. Short rows get empty fields."""
        data = self.read_info("RECORD")
        if data is None:
            return None
        try:
            rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline="")))
        except csv.Error:
            return None
        return tuple(RecordRow(*[*row, "", ""][:3]) for row in rows if row)

    @cached_property
    def entry_points(self) -> configparser.ConfigParser | None:
        """The sections of entry_points.txt, empty where there is none; None where it is no INI."""
        data = self.read_info("entry_points.txt")
        parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        try:
            parser.read_string((data or b"").decode("utf-8", "replace"))
        except configparser.Error:
            return None
        return parser

    @property
    def console_scripts(self) -> dict[str, str]:
        """The console scripts: command name to `module:object`."""
        parser = self.entry_points
        if parser is None or "console_scripts" not in parser:
            return {}
        return dict(parser["console_scripts"])

    def named(self, name: str) -> bool:
        """Whether this is a wheel of the distribution `name`, in any spelling."""
        return canonicalize_name(name) == self.name
