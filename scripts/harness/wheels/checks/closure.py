"""Every requirement is met inside the house: nothing is fetched at install time."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

from packaging.markers import Marker, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from harness.wheels.findings import Finding
from harness.wheels.house import House
from harness.wheels.wheel import Wheel

# A requirement counts where any of these needs it.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def check(house: House) -> Iterator[Finding]:
    """Report requirements that the house does not hold, or holds in another version."""
    extras = _requested_extras(house)
    for wheel in house.wheels:
        for text in wheel.metadata.get_all("Requires-Dist") or []:
            try:
                requirement = Requirement(str(text))
            except InvalidRequirement as error:
                yield _finding(wheel, "requirement-invalid", str(text), f"malformed: {error}")
                continue
            if needed(requirement.marker, extras[wheel.name]):
                yield from _requirement(house, wheel, requirement)


def _requested_extras(house: House) -> dict[str, set[str]]:
    """Return, for each distribution, the extras that others of the house ask for."""
    extras: dict[str, set[str]] = {wheel.name: set() for wheel in house.wheels}
    grown = True
    while grown:
        grown = False
        for wheel in house.wheels:
            for requirement in _valid_requirements(wheel):
                known = extras.get(canonicalize_name(requirement.name))
                if known is None or not needed(requirement.marker, extras[wheel.name]):
                    continue
                asked = {canonicalize_name(extra) for extra in requirement.extras}
                grown = grown or not asked <= known
                known |= asked
    return extras


def _valid_requirements(wheel: Wheel) -> Iterator[Requirement]:
    for text in wheel.metadata.get_all("Requires-Dist") or []:
        with contextlib.suppress(InvalidRequirement):
            yield Requirement(str(text))


def needed(marker: Marker | None, extras: Collection[str] = ()) -> bool:
    """Whether a requirement applies, with these extras, on Linux with any supported Python."""
    if marker is None:
        return True
    return any(
        marker.evaluate(
            {
                **{key: str(value) for key, value in default_environment().items()},
                "python_version": python,
                "python_full_version": f"{python}.0",
                "sys_platform": "linux",
                "platform_system": "Linux",
                "os_name": "posix",
                "extra": extra,
            }
        )
        for python in PYTHONS
        for extra in ("", *extras)
    )


def _requirement(house: House, wheel: Wheel, requirement: Requirement) -> Iterator[Finding]:
    text = str(requirement)
    if requirement.url:
        yield _finding(wheel, "requirement-url", text, "a URL is fetched at install time")
        return
    other = house.find(canonicalize_name(requirement.name))
    if other is None:
        yield _finding(wheel, "requirement-missing", text, "the wheelhouse holds no such wheel")
    elif not requirement.specifier.contains(other.version, prereleases=True):
        message = "the wheelhouse holds another version"
        yield _finding(wheel, "requirement-unmet", text, message, found=other.filename)
    elif other.version.local and _exact(requirement.specifier, str(other.version.public)):
        # PEP 440 lets ==1.0 take 1.0+cu128; a release must say which of the two it means.
        message = "the wheelhouse holds a local version where the public one is pinned"
        yield _finding(wheel, "requirement-local", text, message, found=other.filename)


def _exact(specifiers: SpecifierSet, public: str) -> bool:
    return any(s.operator == "==" and s.version == public for s in specifiers)


def _finding(
    wheel: Wheel, code: str, expected: str, message: str, found: str | None = None
) -> Finding:
    return Finding(
        code,
        wheel.filename,
        message,
        member=f"{wheel.dist_info}/METADATA",
        expected=expected,
        found=found,
        fix="add the wheel that is asked for to the wheelhouse, or change the requirement",
    )
