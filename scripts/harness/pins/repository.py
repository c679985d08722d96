"""A repository as the rules see it: its files, what the readers found, and its pins."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from harness.pins import inheritance, readers, walk
from harness.pins.config import Pins
from harness.pins.text import Document
from harness.pins.tokens import Claim, Fact, Reading, RequirementFile

MAX_BYTES = 8 << 20
# Where import names are looked for, when some are retired.
SOURCES = (".py", ".pyi", ".rs")
F = TypeVar("F", bound=Fact)


class Repository:
    """Everything below `root` that the policy does not exclude.

    Args:
        root: The folder of the repository.
        pins: Its loaded pins.
        overlay: Contents that take the place of files (used to look before writing).
    """

    def __init__(self, root: Path, pins: Pins, overlay: Mapping[str, bytes] | None = None) -> None:
        self.root = root
        self.pins = pins
        self.overlay = overlay or {}
        self.readings: list[Reading] = []
        self._data: dict[str, bytes | None] = {}
        self._read_all()

    # Files

    @cached_property
    def _walked(self) -> list[tuple[str, bool]]:
        return walk.files(self.root)

    @cached_property
    def all_files(self) -> list[str]:
        """Every file, excluded ones too."""
        return [path for path, _ in self._walked]

    @cached_property
    def _files(self) -> list[tuple[str, bool]]:
        """Every file that is not excluded, and whether it is a symbolic link."""
        patterns = [walk.glob(item.text).pattern for item in self.pins.policy.exclude]
        if not patterns:
            return self._walked
        excluded = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.DOTALL)
        return [(path, link) for path, link in self._walked if not excluded.fullmatch(path)]

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every file that is not excluded."""
        return frozenset(path for path, _ in self._files)

    def data(self, path: str) -> bytes | None:
        """Return the bytes of a file; None where it is gone, no file, or far too large."""
        if path in self.overlay:
            return self.overlay[path]
        if path not in self._data:
            self._data[path] = _content(f"{self.root}/{path}")
        return self._data[path]

    def exists(self, path: str) -> bool:
        """Say whether a path (file or folder) is there."""
        return path in self.paths or (self.root / path).exists()

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and bytes of every text file that is no link."""
        for path, link in self._files:
            if not link and (data := self.data(path)) is not None and b"\0" not in data[:1024]:
                yield path, data

    # Readings

    def _read_all(self) -> None:
        seen: set[str] = set()
        plain = [path for path, link in self._files if not link]
        links = [path for path, link in self._files if link]
        for path in plain:
            if path != self.pins.document.path:
                self._read(path)
        for path in links:
            # A link is read under its own name only where its target was not read already.
            real = os.path.relpath(os.path.realpath(self.root / path), os.path.realpath(self.root))
            target = real.replace(os.sep, "/")
            if target not in self.by_path and target not in seen and not target.startswith(".."):
                seen.add(target)
                self._read(path)
        self._follow_includes()
        if self.pins.policy.retired:
            for path in plain:
                if path.endswith(SOURCES) and (data := self.data(path)) is not None:
                    self.readings.append(readers.read(Document(path, data), "imports"))
        inheritance.link(self)

    @cached_property
    def by_path(self) -> dict[str, Reading]:
        """The reading of each path."""
        return {}

    def _read(self, path: str) -> None:
        reader = readers.reader_of(path)
        if reader is None or (data := self.data(path)) is None:
            return
        document = Document(path, data)
        if readers.may_hold(document, reader):
            self._add(readers.read(document, reader))

    def _add(self, reading: Reading) -> None:
        self.readings.append(reading)
        self.by_path[reading.document.path] = reading

    def _follow_includes(self) -> None:
        """Read requirement files whose names do not tell what they are: included, or compiled."""
        from harness.pins.readers import requirements

        queue = list(self.readings)
        while queue:
            for path in _named_by(queue.pop()):
                known = self.by_path.get(path)
                if known is not None and any(isinstance(f, RequirementFile) for f in known.facts):
                    continue
                if path not in self.paths or (data := self.data(path)) is None:
                    continue
                fresh = Reading(Document(path, data))
                if fresh.document.readable:
                    requirements.read_as_requirements(fresh)
                if known is not None:
                    self.readings.remove(known)
                self._add(fresh)
                queue.append(fresh)

    def claims(self) -> Iterator[tuple[Document, Claim]]:
        """Yield every claim with its document."""
        for reading in self.readings:
            for claim in reading.claims:
                yield reading.document, claim

    def facts(self, kind: type[F]) -> Iterator[tuple[Document, F]]:
        """Yield every fact of a kind with its document."""
        for reading in self.readings:
            for fact in reading.facts:
                if isinstance(fact, kind):
                    yield reading.document, fact


def _named_by(reading: Reading) -> list[str]:
    """Return the requirement files that a requirement file includes or was compiled from."""
    found = []
    folder = posixpath.dirname(reading.document.path)
    for fact in reading.facts:
        if isinstance(fact, RequirementFile):
            found += [path for path, _ in fact.includes]
            for name in fact.compiled_from:
                if name.endswith((".in", ".txt")):
                    found += [posixpath.normpath(name), posixpath.normpath(f"{folder}/{name}")]
    return found


def _content(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        if size > MAX_BYTES:
            return None
        # Asking for no more than there is spares a buffer, and a second call that finds the end.
        return os.read(descriptor, size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
