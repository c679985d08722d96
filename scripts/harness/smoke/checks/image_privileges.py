"""The image starts as an ordinary user that can do nothing outside its own files."""

from __future__ import annotations

from collections.abc import Iterator

from harness.smoke.facts import Facts

TITLE = "the image runs as its own user, not root, without capabilities, on a read-only root"
KINDS = ("cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield every privilege that the process has."""
    assert facts.image is not None
    process = facts.probe["process"]
    if facts.image.user.partition(":")[0] in {"", "0", "root"}:
        yield f"the image's user is {facts.image.user or 'not set'}, expected one that is not root"
    if process["uid"] == 0:
        yield "it runs as uid 0"
    if process["gid"] == 0:
        yield "it runs as gid 0"
    if process["capabilities"]:
        yield f"it has capabilities: {process['capabilities']:#x}"
    if not process["no_new_privileges"]:
        yield "it may gain privileges"
    for folder in facts.probe["writable"]:
        yield f"it can write to {folder}"
