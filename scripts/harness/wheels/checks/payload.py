"""What a wheel must not carry into site-packages."""

from __future__ import annotations

from collections.abc import Iterator

from harness.wheels.findings import Finding
from harness.wheels.wheel import Wheel

# Folders that every project has and that collide in site-packages.
COMMON = {"test", "tests", "doc", "docs", "example", "examples", "scripts", "src"}
POINTER = b"version https://git-lfs.github.com/spec/"


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report Git LFS pointers in place of files, and top-level folders of common names."""
    for name in wheel.files:
        if wheel.read(name).startswith(POINTER):
            yield Finding(
                "payload-pointer",
                wheel.filename,
                "a Git LFS pointer was packed in place of the file",
                member=name,
                fix="git lfs pull, then build again",
            )
    for folder in sorted({name.split("/")[0] for name in wheel.files if "/" in name} & COMMON):
        yield Finding(
            "payload-top-level",
            wheel.filename,
            "a folder of this name at the top of site-packages collides with other projects'",
            member=f"{folder}/",
            fix="exclude it from the wheel",
            severity="warning",
        )
