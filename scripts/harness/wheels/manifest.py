"""The manifest of a wheelhouse: what was built, from which source, with which bytes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import CheckFailed, InputError
from harness.files import write_atomically
from harness.wheels import first_party
from harness.wheels.house import open_wheels
from harness.wheels.wheel import Wheel

T = TypeVar("T")

SCHEMA = 1
MANIFEST = "manifest.json"
REQUIREMENTS = "requirements.txt"


@dataclass(frozen=True)
class Entry:
    """One wheel of the manifest. `revision` is None for a third-party wheel."""

    filename: str
    name: str
    version: str
    tags: tuple[str, ...]
    sha256: str
    size: int
    first_party: bool
    revision: str | None


@dataclass(frozen=True)
class Manifest:
    """The whole manifest; `wheels` is sorted by file name."""

    revision: str
    tree: str
    dirty: bool
    builder: dict[str, str]
    wheels: tuple[Entry, ...]

    def first_party(self) -> list[Entry]:
        """Return the entries of our own wheels."""
        return [entry for entry in self.wheels if entry.first_party]

    def render(self) -> str:
        """Return the text of manifest.json: the same manifest gives the same bytes."""
        data = {
            "schema": SCHEMA,
            "source": {"revision": self.revision, "tree": self.tree, "dirty": self.dirty},
            "builder": self.builder,
            "wheels": [asdict(entry) for entry in self.wheels],
        }
        return json.dumps(data, indent=2, sort_keys=True) + "\n"

    def render_requirements(self) -> str:
        """Return the text of requirements.txt: the whole house, pinned and hashed."""
        lines = [f"{w.name}=={w.version} --hash=sha256:{w.sha256}\n" for w in self.wheels]
        return "".join(sorted(lines))


def describe(wheel: Wheel, *, own: bool, revision: str | None) -> Entry:
    """Return the manifest's entry for a wheel."""
    return Entry(
        filename=wheel.filename,
        name=wheel.name,
        version=str(wheel.version),
        tags=tuple(sorted(str(tag) for tag in wheel.tags)),
        sha256=wheel.sha256,
        size=len(wheel.file_bytes),
        first_party=own,
        revision=revision,
    )


def write(
    wheelhouse: Path, *, revision: str, tree: str, dirty: bool, builder: dict[str, str]
) -> Path:
    """Write manifest.json and requirements.txt into a wheelhouse and return the manifest's path.

    `builder` is free-form: names and versions of what built the wheels. Raises CheckFailed where
    one of our wheels is missing, is there twice or says that it was built from other source.
    """
    wheels = open_wheels(wheelhouse)
    for name in first_party.PACKAGES:
        _check_own(wheelhouse, name, wheels, revision=revision, tree=tree, dirty=dirty)
    entries = []
    for wheel in wheels:
        own = wheel.name in first_party.PACKAGES
        entries.append(describe(wheel, own=own, revision=revision if own else None))
    manifest = Manifest(revision, tree, dirty, dict(builder), tuple(entries))
    write_atomically(wheelhouse / REQUIREMENTS, manifest.render_requirements())
    path = wheelhouse / MANIFEST
    write_atomically(path, manifest.render())
    return path


def _check_own(
    wheelhouse: Path, name: str, wheels: list[Wheel], *, revision: str, tree: str, dirty: bool
) -> None:
    own = [wheel for wheel in wheels if wheel.name == name]
    if len(own) != 1:
        names = ", ".join(wheel.filename for wheel in own) or "none"
        raise CheckFailed(
            f"expected exactly one wheel of {name}, found {names}",
            where=str(wheelhouse),
            fix="make wheels",
        )
    where = str(own[0].path)
    try:
        info = first_party.read_build_info(own[0])
    except ValueError as error:
        raise CheckFailed(str(error), where=where, fix="make wheels") from error
    found = (info.revision, info.tree, info.dirty)
    if found != (revision, tree, dirty):
        raise CheckFailed(
            f"the wheel was built from other source: expected {(revision, tree, dirty)}, "
            f"found {found}",
            where=where,
            fix="make wheels",
        )


def load(wheelhouse: Path) -> Manifest:
    """Read a wheelhouse's manifest; raises InputError where it is missing or malformed."""
    path = wheelhouse / MANIFEST
    if not path.is_file():
        raise InputError("the wheelhouse has no manifest", where=str(path), fix="make wheels")
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema {data['schema']!r}, expected {SCHEMA}")
        source = data["source"]
        return Manifest(
            revision=_typed(source["revision"], str),
            tree=_typed(source["tree"], str),
            dirty=_typed(source["dirty"], bool),
            builder=_typed(data["builder"], dict),
            wheels=tuple(_entry(item) for item in data["wheels"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"not a manifest of schema {SCHEMA}: {error!r}", where=str(path), fix="make wheels"
        ) from error


def _typed(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, found {value!r}")
    return value


def _entry(item: dict[str, Any]) -> Entry:
    return Entry(**{**item, "tags": tuple(item["tags"])})
