"""The folders of a checkout that the harness works in."""

from __future__ import annotations

from pathlib import Path

from harness.errors import InputError

ROOT_MARKER = Path("deps/pins.toml")


def find_root(start: Path | None = None) -> Path:
    """Return the nearest folder at or above `start` (default: here) that holds deps/pins.toml."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / ROOT_MARKER).is_file():
            return folder
    raise InputError(
        f"no {ROOT_MARKER} here or in any folder above",
        where=str(start),
        fix="run the command inside a checkout",
    )
