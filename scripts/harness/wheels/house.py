"""A wheelhouse: a folder of wheels, with or without its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.wheels.wheel import UnreadableWheelError, Wheel


@dataclass(frozen=True)
class House:
    """A folder and its readable wheels, sorted by file name."""

    folder: Path
    wheels: tuple[Wheel, ...]

    def find(self, name: str) -> Wheel | None:
        """Return the first wheel of a distribution (canonical name)."""
        return next((wheel for wheel in self.wheels if wheel.name == name), None)


def wheel_paths(folder: Path) -> list[Path]:
    """Return the wheels of a folder, sorted by name; raises InputError where there are none."""
    if not folder.is_dir():
        raise InputError("no such wheelhouse", where=str(folder), fix="make wheels")
    paths = sorted(folder.glob("*.whl"))
    if not paths:
        raise InputError("the wheelhouse holds no wheel", where=str(folder), fix="make wheels")
    return paths


def open_wheels(folder: Path) -> list[Wheel]:
    """Open every wheel of a folder; raises InputError at the first that is none."""
    wheels = []
    for path in wheel_paths(folder):
        try:
            wheels.append(Wheel(path))
        except UnreadableWheelError as error:
            raise InputError(str(error), where=str(path), fix="make wheels") from error
    return wheels
