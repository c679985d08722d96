"""Readers: one file format each. A reader returns tokens and judges nothing.

A reader module has `NAME` and `read(reading)`, which fills a `Reading`; where its paths say little,
also `glance(document)`, which looks at the bytes. What its parser refuses becomes a fault of the
file, at its line. Only the modules that a repository needs are imported.
"""

from __future__ import annotations

import re
from importlib import import_module

from harness.pins.text import Document, Span
from harness.pins.tokens import Fault, Reading

# Which reader reads which path: the first that matches. Paths are relative to the root.
PATHS = {
    "cargo_manifest": r"(?:.*/)?Cargo\.toml",
    "cargo_lock": r"(?:.*/)?Cargo\.lock",
    "cargo_config": r"(?:.*/)?\.cargo/config(?:\.toml)?",
    "pyproject": r"(?:.*/)?pyproject\.toml",
    "python_locks": r"(?:.*/)?(?:uv|poetry)\.lock",
    "toolchain": r"(?:.*/)?(?:rust-toolchain(?:\.toml)?|\.python-version|\.tool-versions)",
    "bake": r"(?:.*/)?(?:[^/]*[-.])?bake(?:[-.][^/]*)?\.(?:hcl|json)",
    "compose": r"(?:.*/)?(?:docker-)?compose(?:[.-][^/]*)?\.ya?ml",
    "workflow": r"(?:.*/)?(?:\.(?:github|gitea|forgejo)/workflows/[^/]+|action)\.ya?ml",
    "precommit": r"(?:.*/)?\.pre-commit-config\.ya?ml",
    "dockerfile": (
        r"(?:.*/)?(?![^/]*\.(?:dockerignore|md|rst|py|rs|sh|ya?ml|json|toml)$)"
        r"(?:[^/]*[._-])?(?:[Dd]ocker|[Cc]ontainer|DOCKER|CONTAINER)(?:[Ff]ile|FILE)(?:[._-][^/]*)?"
    ),
    # Other .txt and .in files are looked into: the name of an included file may say nothing.
    "requirements": r".*\.(?:txt|in)",
    "dotenv": r"(?:.*/)?(?:\.env(?:\.[^/]*)?|[^/]*\.env)",
    # A hook has no ending: its first line tells.
    "script": r".*\.(?:sh|bash)|(?:.*/)?(?:hooks|scripts|bin)/[^./]+",
    "makefile": r"(?:.*/)?(?:GNUm|M|m)akefile|.*\.mk",
    # Looked into as well.
    "debian": r".*\.(?:lock|toml)",
}
_ROUTE = re.compile("|".join(f"(?P<{name}>{path})" for name, path in PATHS.items()))
_CONFLICT = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)


def reader_of(path: str) -> str | None:
    """Return the name of the reader of a path, or None."""
    match = _ROUTE.fullmatch(path)
    return match.lastgroup if match is not None else None


def may_hold(document: Document, name: str) -> bool:
    """Look at the bytes: False where the reader would find nothing, which spares decoding."""
    glance = getattr(import_module(f"harness.pins.readers.{name}"), "glance", None)
    # Wide encodings spell the same words in other bytes.
    return glance is None or document.encoding != "utf-8" or bool(glance(document))


def read(document: Document, name: str) -> Reading:
    """Run one reader over one file; never raises for what the file holds."""
    reader = import_module(f"harness.pins.readers.{name}")
    reading = Reading(document)
    if not document.readable:
        message = f"does not decode as {document.encoding}"
        reading.faults.append(Fault("unreadable", Span(0, 0), message))
        return reading
    conflict = _CONFLICT.search(document.data) if b"<<<<<<< " in document.data else None
    if conflict is not None:
        span = Span(*conflict.span())
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
        span = document.span(offset, offset)
        fresh.faults.append(Fault("unreadable", span, f"not a valid {reader.NAME}: {error}"))
        return fresh
    return reading
