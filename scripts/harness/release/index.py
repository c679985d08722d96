"""A real package index on loopback that holds a wheelhouse, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import loopback
from harness.smoke.install import Origin


@contextmanager
def index_of(wheelhouse: Path) -> Iterator[Origin]:
    """Serve the wheels of a folder; what the folder lacks is looked up nowhere else."""

    def command(port: int) -> list[str]:
        server = [sys.executable, "-I", "-m", "pypiserver", "run", "--disable-fallback"]
        return [*server, "-i", loopback.HOST, "-p", str(port), str(wheelhouse)]

    with loopback.serve(command, fix="make setup") as port:
        url = f"http://{loopback.HOST}:{port}/"
        yield Origin(("--index-url", f"{url}simple/"), url)
