"""The tags promise what the content can keep, and no less than it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.wheels.findings import Finding
from harness.wheels.wheel import Wheel

# name.cpython-312-x86_64-linux-gnu.so is for one version, name.abi3.so for many.
ONE_VERSION = re.compile(r"\.cpython-3\d+[^/]*\.so$")


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report tags that no index takes, or that the content contradicts."""
    platforms = {tag.platform for tag in wheel.tags}
    for platform in sorted(platforms):
        if platform.startswith("linux_"):
            yield Finding(
                "tag-linux",
                wheel.filename,
                "the platform tag promises this build machine only; no index takes it",
                expected="a manylinux or musllinux tag",
                found=platform,
                fix="build with a manylinux target (maturin --compatibility, zig)",
            )
    if "any" in platforms:
        for member in wheel.elf_members():
            yield Finding(
                "tag-pure",
                wheel.filename,
                "machine code in a wheel whose tag says any platform",
                member=member,
                fix="give the wheel a platform tag",
            )
    yield from _extensions(wheel)


def is_stable_abi(wheel: Wheel) -> bool:
    """Whether the tags promise one build for many Python versions."""
    return any(tag.abi == "abi3" for tag in wheel.tags)


def python_floor(wheel: Wheel) -> tuple[int, int] | None:
    """Return the oldest CPython of the tags, e.g. (3, 11) of cp311; None where none is named."""
    found = [re.fullmatch(r"cp3(\d+)", tag.interpreter) for tag in wheel.tags]
    minors = [int(match[1]) for match in found if match]
    return (3, min(minors)) if minors else None


def _extensions(wheel: Wheel) -> Iterator[Finding]:
    for name in wheel.files:
        if is_stable_abi(wheel) and ONE_VERSION.search(name):
            expected, found = "name.abi3.so", name.rsplit("/", 1)[-1]
        elif not is_stable_abi(wheel) and name.endswith(".abi3.so"):
            expected, found = "an abi3 tag", " ".join(sorted(map(str, wheel.tags)))
        else:
            continue
        yield Finding(
            "tag-extension",
            wheel.filename,
            "the extension module is built for another ABI than the tags say",
            member=name,
            expected=expected,
            found=found,
            fix="build with the feature (abi3-py311) and the tag that belong together",
        )
