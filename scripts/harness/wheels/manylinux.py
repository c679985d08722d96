"""The manylinux policy: what a platform tag promises. The facts are in manylinux.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

PLATFORM = re.compile(r"manylinux_(?P<major>\d+)_(?P<minor>\d+)_(?P<arch>\w+)")

Numbers = tuple[int, ...]


def numbers(version: str) -> Numbers:
    """Return a dotted version as integers; raises ValueError where it is none."""
    return tuple(int(part) for part in version.split("."))


@dataclass(frozen=True)
class Promise:
    """The oldest system that a wheel's tags promise to run on.

    `newest` gives, for a symbol-version prefix (GLIBC, GLIBCXX, CXXABI, GCC), the newest version
    that this system is sure to have.
    """

    tag: str
    arch: str
    newest: dict[str, Numbers]

    def admits(self, version: str) -> bool:
        """Whether a versioned need such as GLIBC_2.17 is met.

        Versions without a number (GLIBC_PRIVATE, GLIBC_ABI_DT_RELR) are promised by no tag;
        prefixes that the policy does not know belong to libraries that it judges by name.
        """
        prefix, _, rest = version.partition("_")
        if prefix not in self.newest:
            return True
        try:
            return numbers(rest) <= self.newest[prefix]
        except ValueError:
            return False


@cache
def _policy() -> dict[str, Any]:
    text = resources.files("harness.wheels").joinpath("manylinux.toml").read_text("utf-8")
    return tomllib.loads(text)


def allowed_libraries() -> frozenset[str]:
    """Return the libraries that a manylinux wheel may load from the system."""
    return frozenset(_policy()["libraries"]["allowed"])


def machine(arch: str) -> tuple[str, int] | None:
    """Return the ELF machine and word size of an architecture; None where it is not known."""
    row = _policy()["machines"].get(arch)
    return (row["machine"], row["bits"]) if row else None


def promise(platforms: Iterable[str]) -> Promise | None:
    """Return what a set of platform tags promises together; None without a manylinux tag.

    A wheel with several tags promises to run on the oldest of them.
    """
    found = []
    for tag in platforms:
        match = PLATFORM.fullmatch(_modern(tag))
        if match:
            glibc = (int(match["major"]), int(match["minor"]))
            found.append((glibc, tag, match["arch"]))
    if not found:
        return None
    glibc, tag, arch = min(found)
    floors = [row for row in _policy()["floor"] if numbers(row["glibc"]) <= glibc]
    row = floors[-1] if floors else _policy()["floor"][0]
    newest = {prefix: numbers(row[prefix]) for prefix in ("GLIBCXX", "CXXABI", "GCC")}
    return Promise(tag, arch, {"GLIBC": glibc, **newest})


def _modern(tag: str) -> str:
    for old, version in _policy()["aliases"].items():
        if tag.startswith(f"{old}_"):
            return tag.replace(old, f"manylinux_{version.replace('.', '_')}", 1)
    return tag
