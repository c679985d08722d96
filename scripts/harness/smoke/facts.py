"""The facts of one lane that the checks judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from packaging.utils import canonicalize_name

from harness.smoke.image_facts import ImageFacts
from harness.smoke.install import Installation
from harness.smoke.lanes.lane import Kind
from harness.smoke.outcome import Outcome
from harness.wheels.first_party import PACKAGES
from harness.wheels.manifest import Entry, Manifest
from harness.wheels.wheel import Wheel


@dataclass(frozen=True)
class Facts:
    """Everything known about a lane after it was prepared.

    Attributes:
        kind: Which kind of lane it is.
        manifest: What the wheelhouse says it holds.
        wheels: The wheels themselves, by distribution name.
        probe: What probe.py found inside.
        version: The outcome of `replay-sim --version`.
        usage: The outcome of `replay-sim --help`.
        installation: How pip did; of the host lane only.
        image: What the engine says; of image lanes only.
    """

    kind: Kind
    manifest: Manifest
    wheels: dict[str, Wheel]
    probe: dict[str, Any]
    version: Outcome
    usage: Outcome
    installation: Installation | None = None
    image: ImageFacts | None = None

    @cached_property
    def installed(self) -> dict[str, dict[str, Any]]:
        """The installed distributions, by canonical name."""
        return {canonicalize_name(d["name"]): d for d in self.probe["distributions"]}

    def own(self) -> Iterator[tuple[Entry, str]]:
        """Each of our wheels' manifest entries and its import package."""
        for entry in self.manifest.first_party():
            yield entry, PACKAGES[entry.name]

    def inside(self, path: str) -> bool:
        """Whether a path lies in the environment under test."""
        return PurePosixPath(path).is_relative_to(self.probe["prefix"])
