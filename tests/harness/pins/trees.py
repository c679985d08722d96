"""Small repositories for the tests: fixture folders, and trees written on the spot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.pins import config
from harness.pins.check import Report, check
from harness.pins.repository import Repository

CASES = Path(__file__).parent / "cases"
PIN = "1" * 40
OTHER = "2" * 40
URL = "https://example.invalid/o/sim.git"
PINS = (CASES / "names-that-only-look-alike" / "tree" / "deps" / "pins.toml").read_text("utf-8")


@dataclass(frozen=True)
class Case:
    """A fixture folder: a tree, and the verdict that it must get."""

    folder: Path
    clean: bool
    expect: tuple[Mapping[str, object], ...]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def tree(self) -> Path:
        return self.folder / "tree"


def load_cases(folder: Path) -> list[Case]:
    """Return every fixture below `folder`."""
    cases = []
    for path in sorted(folder.glob("*/expect.json")):
        verdict = json.loads(path.read_text("utf-8"))
        cases.append(Case(path.parent, verdict["clean"], tuple(verdict["expect"])))
    return cases


def write(root: Path, files: Mapping[str, str | bytes], pins: str = PINS) -> Path:
    """Write a tree and its pins file below `root`; return `root`."""
    for name, content in {"deps/pins.toml": pins, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return root


def open_tree(root: Path) -> Repository:
    """Return the repository at `root` as the commands see it."""
    return Repository(root, config.load(root))


def report(root: Path) -> Report:
    """Check the tree at `root`."""
    return check(open_tree(root))


def contents(root: Path) -> dict[str, bytes]:
    """Return the bytes of every file below `root`."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
