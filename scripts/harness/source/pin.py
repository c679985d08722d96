"""The [source] table of deps/pins.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.files import write_atomically
from harness.source.git import FULL_ID

FIELDS = {"git", "revision", "tree", "paths"}


@dataclass(frozen=True)
class SourcePin:
    """What both wheels are built from.

    Attributes:
        git: "." for the repository that holds the pins file, or a URL.
        revision: Full id of the commit.
        tree: Content id of `paths` at that commit (see `Repository.tree_id`).
        paths: What is exported.
        file: The pins file.
    """

    git: str
    revision: str
    tree: str
    paths: tuple[str, ...]
    file: Path


def line_of(file: Path, key: str) -> int:
    """Return the line of `key` in the [source] table, from 1."""
    inside = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.strip()
        if text.startswith("["):
            inside = text.partition("#")[0].strip() == "[source]"
        elif inside and text.partition("=")[0].strip() == key:
            return number
    return 1


def load(file: Path) -> SourcePin:
    """Read the pin.

    Raises:
        InputError: The table is missing or malformed.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("source")
    except FileNotFoundError as error:
        raise InputError("no pins file", where=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=str(file)) from error
    if not isinstance(table, dict):
        raise InputError("no [source] table", where=str(file), fix="see docs/source.md")
    if wrong := sorted(set(table) ^ FIELDS):
        raise InputError(
            f"[source] needs exactly {', '.join(sorted(FIELDS))}; off: {wrong}", where=str(file)
        )
    for key in ("revision", "tree"):
        if not isinstance(table[key], str) or not FULL_ID.fullmatch(table[key]):
            raise InputError(
                f"source.{key} is no full id: {table[key]!r}",
                where=f"{file}:{line_of(file, key)}",
                fix="harness source bump",
            )
    return SourcePin(table["git"], table["revision"], table["tree"], tuple(table["paths"]), file)


def move(pin: SourcePin, revision: str, tree: str) -> None:
    """Write a new revision and tree into the pins file, and nothing else."""
    lines = pin.file.read_text(encoding="utf-8").splitlines(keepends=True)
    for key, old, new in (("revision", pin.revision, revision), ("tree", pin.tree, tree)):
        number = line_of(pin.file, key) - 1
        if old not in lines[number]:
            raise InputError(
                f"source.{key} is not written as one line under [source]",
                where=str(pin.file),
                fix=f'write it as {key} = "{new}"',
            )
        lines[number] = lines[number].replace(old, new, 1)
    write_atomically(pin.file, "".join(lines))
