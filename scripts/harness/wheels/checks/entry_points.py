"""Console scripts name modules that the wheel carries."""

from __future__ import annotations

from collections.abc import Iterator

from harness.wheels.findings import Finding
from harness.wheels.wheel import Wheel


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report console scripts whose module is not in the wheel."""
    if wheel.entry_points is None:
        yield Finding(
            "entry-point",
            wheel.filename,
            "entry_points.txt can't be read",
            member=f"{wheel.dist_info}/entry_points.txt",
            fix="correct [project.scripts]",
        )
    for command, target in sorted(wheel.console_scripts.items()):
        module = target.partition(":")[0].strip()
        if not _has_module(wheel, module):
            yield Finding(
                "entry-point",
                wheel.filename,
                f"the command {command} starts a module that the wheel does not carry",
                member=f"{wheel.dist_info}/entry_points.txt",
                expected=f"{module.replace('.', '/')}.py",
                found=target,
                fix="correct [project.scripts], or add the module",
            )


def _has_module(wheel: Wheel, module: str) -> bool:
    stem = module.replace(".", "/")
    return any(
        name in (f"{stem}.py", f"{stem}/__init__.py")
        or (name.startswith(f"{stem}.") and name.endswith(".so"))
        for name in wheel.files
    )
