"""The [source] table of deps/pins.toml: what both wheels are built from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.files import write_atomically
from harness.pins import config
from harness.pins.config import Pins, Source


@dataclass(frozen=True)
class SourcePin:
    """The pinned source of one checkout.

    Attributes:
        root: Folder of the checkout.
        git: "." for the checkout's repository, or a URL.
        revision: Full id of the commit.
        tree: Content id of `paths` at that commit (see `Repository.tree_id`).
        paths: What is exported.
    """

    root: Path
    git: str
    revision: str
    tree: str
    paths: tuple[str, ...]
    pins: Pins
    table: Source

    @property
    def cache(self) -> Path:
        """Where a repository that is named by a URL is kept."""
        return self.root / "build" / "cache" / "source"

    def where(self, key: str = "revision") -> str:
        """Return FILE:LINE of "revision" or "tree"."""
        value = self.table.tree if key == "tree" else self.table.revision
        line, _ = self.pins.document.position(value.span.start)
        return f"{self.pins.document.path}:{line}"

    def move(self, revision: str, tree: str) -> None:
        """Write a new revision and tree into the pins file, and nothing else."""
        data = self.pins.document.data
        edits = [(self.table.revision, revision), (self.table.tree, tree)]
        for old, new in sorted(edits, key=lambda edit: edit[0].span, reverse=True):
            data = data[: old.span.start] + new.encode() + data[old.span.end :]
        write_atomically(self.root / self.pins.document.path, data)


def load(root: Path) -> SourcePin:
    """Read the pin of a checkout.

    Raises:
        InputError: There is no pins file, it is malformed, or it has no [source] table.
    """
    pins = config.load(root)
    source = pins.source
    if source is None:
        raise InputError("no [source] table", where=pins.document.path, fix="see docs/source.md")
    return SourcePin(
        root=root,
        git=source.git,
        revision=source.revision.text,
        tree=source.tree.text,
        paths=tuple(path.text for path in source.paths),
        pins=pins,
        table=source,
    )
