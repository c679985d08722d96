"""The machine code in memory is the wheel's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.smoke.facts import Facts

TITLE = "the loaded extensions have the bytes of the wheels' members"
KINDS = ("host", "cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield packages whose extension was not loaded, or loaded from elsewhere."""
    for entry, package in facts.own():
        wheel = facts.wheels[entry.name]
        members = [m for m in wheel.elf_members() if m.startswith(f"{package}/")]
        loaded = {
            path: digest
            for path, digest in facts.probe["mapped"].items()
            if PurePosixPath(path).parent.name == package
        }
        if not members:
            yield f"{wheel.filename} carries no extension"
        for member in members:
            expected = hashlib.sha256(wheel.read(member)).hexdigest()
            if expected not in loaded.values():
                yield f"{member} of {wheel.filename} is not what was loaded: {loaded or 'nothing'}"
        for path in loaded:
            if not facts.inside(path):
                yield f"{path} was loaded from outside {facts.probe['prefix']}"
