"""Every file that a wheel carries lies on disk with the wheel's own bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from harness.smoke.facts import Facts
from harness.wheels.wheel import Wheel

TITLE = "the installed files have the bytes of the wheels"
KINDS = ("host", "cpu", "gpu")
# Installers write these anew.
REWRITTEN = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}


def problems(facts: Facts) -> Iterator[str]:
    """Yield files that are missing or differ, and wheels that are not the manifest's."""
    for entry in facts.manifest.wheels:
        wheel = facts.wheels.get(entry.name)
        if wheel is None or wheel.sha256 != entry.sha256:
            yield f"{entry.filename}: the wheel in the wheelhouse is not the manifest's"
            continue
        if entry.name in facts.installed:
            yield from _compare(wheel, facts.installed[entry.name]["files"])


def _compare(wheel: Wheel, installed: dict[str, dict[str, str | None]]) -> Iterator[str]:
    for member in wheel.files:
        top, _, rest = member.partition("/")
        # .data folders are spread over the scheme by the installer, scripts rewritten.
        if top.endswith(".data") or (top == wheel.dist_info and rest in REWRITTEN):
            continue
        found = installed.get(member, {}).get("sha256")
        expected = hashlib.sha256(wheel.read(member)).hexdigest()
        if found is None:
            yield f"{member} of {wheel.filename} is not installed"
        elif found != expected:
            yield f"{member}: expected the bytes of {wheel.filename} ({expected}), found {found}"
