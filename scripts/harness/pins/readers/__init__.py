"""Readers: one file format each. A reader returns tokens and judges nothing.

A reader module has `NAME`, `wants(path)` and `read(reading)`, which fills a `Reading`. What a
reader's parser refuses becomes a fault of the file, at its line.
"""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType

from harness.pins.text import Document, Span
from harness.pins.tokens import Fault, Reading

# In order: the first that wants a path reads it.
NAMES = (
    "cargo_manifest",
    "cargo_lock",
    "cargo_config",
    "pyproject",
    "python_locks",
    "toolchain",
    "dockerfile",
    "bake",
    "compose",
    "workflow",
    "precommit",
    "requirements",
    "dotenv",
    "script",
)
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


def _module(name: str) -> ModuleType:
    return import_module(f"harness.pins.readers.{name}")


READERS = tuple(_module(name) for name in NAMES)


def reader_of(path: str) -> ModuleType | None:
    """Return the reader of a path, or None."""
    return next((reader for reader in READERS if reader.wants(path)), None)


def read(document: Document, reader: ModuleType) -> Reading:
    """Run one reader over one file; never raises for what the file holds."""
    reading = Reading(document)
    if not document.readable:
        message = f"does not decode as {document.encoding}"
        reading.faults.append(Fault("unreadable", Span(0, 0), message))
        return reading
    conflict = _CONFLICT.search(document.text)
    if conflict is not None:
        span = document.span(conflict.start(), conflict.end())
        message = "an unresolved merge conflict"
        reading.faults.append(Fault("unreadable", span, message, fix="resolve the conflict"))
        return reading
    try:
        reader.read(reading)
    except ValueError as error:
        offset = getattr(error, "offset", None)
        if offset is None:
            raise
        fresh = Reading(document)
        what = getattr(reader, "NAME", "file")
        span = document.span(offset, offset)
        fresh.faults.append(Fault("unreadable", span, f"not a valid {what}: {error}"))
        return fresh
    return reading
