"""Scratch folders outside the checkout: gone after use, and after a killed run, with the next."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "replay-smoke-"


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder of this process that every user can read; it is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as name:
        folder = Path(name)
        # An image's own user is neither us nor of our group.
        folder.chmod(0o755)
        yield folder


def remove_leftovers() -> None:
    """Remove our folders of runs whose process is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        process = folder.name.removeprefix(PREFIX).partition("-")[0]
        gone = process.isdigit() and not Path("/proc", process).exists()
        if gone and folder.stat().st_uid == os.getuid():
            shutil.rmtree(folder, ignore_errors=True)
