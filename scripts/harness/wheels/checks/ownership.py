"""No installed path belongs to two wheels: removing one would break the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from harness.wheels.findings import Finding
from harness.wheels.house import House
from harness.wheels.wheel import Wheel


def check(house: House) -> Iterator[Finding]:
    """Report paths, and commands, that two distributions install."""
    owners: dict[str, dict[str, str]] = defaultdict(dict)
    for wheel in house.wheels:
        for path in installed_paths(wheel):
            owners[path].setdefault(wheel.name, wheel.filename)
    for path, files in sorted(owners.items()):
        if len(files) > 1:
            first, *others = files.values()
            yield Finding(
                "path-two-owners",
                first,
                "two distributions install this path",
                member=path,
                expected="one owner",
                found=", ".join([first, *others]),
                fix="move the file into one of them",
            )


def installed_paths(wheel: Wheel) -> set[str]:
    """Return the paths that a wheel installs, relative to site-packages or named by scheme."""
    paths = {f"scripts:{command}" for command in wheel.console_scripts}
    for name in wheel.files:
        top, _, rest = name.partition("/")
        if top == wheel.dist_info:
            continue
        if top.endswith(".data"):
            scheme, _, path = rest.partition("/")
            paths.add(path if scheme in {"purelib", "platlib"} else f"{scheme}:{path}")
        else:
            paths.add(name)
    return paths
