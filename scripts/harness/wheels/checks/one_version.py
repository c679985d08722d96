"""One wheel for a name: which one pip would take is never a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from harness.wheels.findings import Finding
from harness.wheels.house import House


def check(house: House) -> Iterator[Finding]:
    """Report names that the house holds more than once: versions, local versions, builds, tags."""
    by_name = defaultdict(list)
    for wheel in house.wheels:
        by_name[wheel.name].append(wheel.filename)
    for name, files in sorted(by_name.items()):
        if len(files) > 1:
            yield Finding(
                "name-twice",
                files[0],
                f"the wheelhouse holds {len(files)} wheels of {name}; an installer picks one",
                expected="one",
                found=", ".join(files),
                fix="keep the wheel under release, remove the others",
            )
