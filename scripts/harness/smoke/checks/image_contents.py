"""The image carries what runs, and not what built it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.smoke.facts import Facts

TITLE = "the image carries no compiler, package cache or set-uid program, and starts replay-sim"
KINDS = ("cpu", "gpu")

COMPILERS = {"as", "cargo", "cc", "clang", "g++", "gcc", "ld", "maturin", "rustc", "zig"}
CACHES = (
    "root/.cache",
    "root/.cargo",
    "usr/local/cargo",
    "var/cache/apt/archives",
    "var/lib/apt/lists",
)


def problems(facts: Facts) -> Iterator[str]:
    """Yield every file of the image that should not be there, and a wrong entrypoint."""
    assert facts.image is not None
    for file in facts.image.files:
        path = PurePosixPath(file.path)
        if path.name in COMPILERS and path.parent.name in {"bin", "sbin"}:
            yield f"it carries the compiler /{path}"
        for cache in CACHES:
            if path.is_relative_to(cache):
                yield f"it carries the package cache /{path}"
        if file.mode & (stat.S_ISUID | stat.S_ISGID):
            yield f"/{path} runs with its owner's rights (mode {file.mode:o})"
        if file.mode & stat.S_IWOTH:
            yield f"/{path} can be written by everyone (mode {file.mode:o})"
    program = PurePosixPath(facts.image.entrypoint[0]).name if facts.image.entrypoint else "none"
    if program != "replay-sim":
        yield f"its entrypoint is {program}, expected replay-sim"
