"""An abi3 wheel uses the stable ABI only, as of its oldest Python."""

from __future__ import annotations

from collections.abc import Iterator

from harness.wheels.checks.tags import is_stable_abi, python_floor
from harness.wheels.elf import UnreadableElfError, read_elf
from harness.wheels.findings import Finding
from harness.wheels.stable_abi import added_in, is_python_symbol
from harness.wheels.wheel import Wheel

FIX = "build with the abi3 feature of the oldest Python (pyo3: abi3-py311)"


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report symbols outside the stable ABI, and ones newer than the oldest Python of the tags."""
    floor = python_floor(wheel)
    if not is_stable_abi(wheel) or floor is None:
        return
    for member in wheel.elf_members():
        try:
            undefined = read_elf(wheel.read(member)).undefined
        except UnreadableElfError:
            continue  # Reported by the ELF check.
        for symbol in sorted(filter(is_python_symbol, undefined)):
            added = added_in(symbol)
            if added is None:
                yield Finding(
                    "abi3-symbol",
                    wheel.filename,
                    f"{symbol} is not in the stable ABI",
                    member=member,
                    found=symbol,
                    fix=FIX,
                )
            elif added > floor:
                yield Finding(
                    "abi3-too-new",
                    wheel.filename,
                    f"{symbol} is in the stable ABI since {added[0]}.{added[1]} only",
                    member=member,
                    expected=f"symbols of {floor[0]}.{floor[1]}",
                    found=symbol,
                    fix=FIX,
                )
