"""The build folder: where things lie, one writer at a time, nothing half-made.

A step writes into a scratch folder and renames it into place as its last act, so a run that was
killed leaves scratch folders only; the next run, which holds the lock, removes them.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from harness.console import note
from harness.errors import InputError, ToolError
from harness.files import write_atomically

SCRATCH_PREFIX = "scratch-"
GIB = 1 << 30


@dataclass(frozen=True)
class Workspace:
    """The folders of one checkout."""

    root: Path

    @property
    def build(self) -> Path:
        """Everything that is made lies below this folder; `make clean` removes it."""
        return self.root / "build"

    @property
    def container(self) -> Path:
        """Dockerfiles and base definitions."""
        return self.root / "container"

    @property
    def deps(self) -> Path:
        """Pins and locks."""
        return self.root / "deps"

    @property
    def wheelhouse(self) -> Path:
        """The wheels of the last build and their manifest."""
        return self.build / "wheelhouse"

    @property
    def logs(self) -> Path:
        """Full output of every build step."""
        return self.build / "logs"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the build folder; wait for another run, then clear what a killed one left."""
        self.build.mkdir(exist_ok=True)
        with (self.build / ".lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                note("another harness run holds build/.lock; waiting for it")
                fcntl.flock(handle, fcntl.LOCK_EX)
            for left in self.build.glob(f"{SCRATCH_PREFIX}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a fresh folder inside the build folder; it is gone afterwards unless renamed."""
        self.build.mkdir(exist_ok=True)
        folder = Path(mkdtemp(prefix=SCRATCH_PREFIX, dir=self.build))
        # mkdtemp's 0700 would travel into images and archives.
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, folder: Path, target: Path) -> Path:
        """Put `folder` in the place of `target`."""
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            old = Path(mkdtemp(prefix=SCRATCH_PREFIX, dir=self.build))
            target.rename(old / "old")
            folder.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            folder.rename(target)
        return target

    def require_space(self, needed: int, *places: Path) -> None:
        """Refuse to start where fewer than `needed` bytes are free on a file system in use."""
        for place in (self.root, *places):
            existing = next((p for p in (place, *place.parents) if p.exists()), self.root)
            free = shutil.disk_usage(existing).free
            if free < needed:
                raise ToolError(
                    f"{free / GIB:.1f} GiB free, {needed / GIB:.1f} GiB needed",
                    where=str(existing),
                    fix="free some space: `make clean`, `docker system prune`, or set "
                    "HARNESS_MIN_FREE_GIB if you know that less will do",
                )


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object; an absent file is an empty one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from error
    if not isinstance(value, dict):
        raise InputError("expected a JSON object", where=str(path))
    return value


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write one JSON object with sorted keys."""
    write_atomically(path, json.dumps(value, indent=2, sort_keys=True) + "\n")
