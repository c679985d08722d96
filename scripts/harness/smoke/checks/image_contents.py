"""The image carries what runs, and not what built it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.smoke.facts import Facts

TITLE = "the image carries no compiler and no package caches, and starts replay-sim"
KINDS = ("cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield compilers, caches and a wrong entrypoint."""
    assert facts.image is not None
    for name in facts.probe["file_system"]["compilers"]:
        yield f"it carries the compiler {name}"
    for folder in facts.probe["file_system"]["caches"]:
        yield f"it carries the cache {folder}"
    program = facts.image.entrypoint[0].rpartition("/")[2] if facts.image.entrypoint else "none"
    if program != "replay-sim":
        yield f"its entrypoint is {program}, expected replay-sim"
