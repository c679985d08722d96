"""Debian packages: locks, the lists that a base is made of, what `apt-get install` names."""

from __future__ import annotations

import re

from harness.pins import toml
from harness.pins.readers import toolchain
from harness.pins.text import UNRESOLVED, Document, Traced
from harness.pins.tokens import Claim, Reading

NAME = "debian"
# A line of `sha256sum *.deb`, with the epoch where there is one.
_ENTRY = re.compile(r"^([0-9a-f]{64})[ \t]+\*?([a-z0-9][a-z0-9.+-]*)_([^\s_]+)_(\w+)\.deb", re.M)
_WORD = re.compile(r"([a-z0-9][a-z0-9.+-]*?)(?::\w+)?(?:=(\S+))?[-+]?")
# Packages that carry a toolchain's version in their name …
_NAMED = (
    ("python", re.compile(r"(?:lib)?python(\d+\.\d+)(?:-.*)?")),
    ("rust", re.compile(r"(?:rustc|cargo|rustfmt|libstd-rust)-(\d+\.\d+)(?:-.*)?")),
)
# … and packages whose own version is that of a toolchain (cargo was numbered 0.x before).
_VERSIONED = (
    ("python", re.compile(r"(?:lib)?python3(?:\.\d+)?(?:-(?:minimal|venv|dev|stdlib))?")),
    ("rust", re.compile(r"rust-?(?:c|fmt|web-clippy|clippy)(?:-.*)?|cargo(?:-.*)?|libstd-rust-.*")),
)
_UPSTREAM = re.compile(r"(?:\d+:)?([1-9]\d*\.\d+(?:\.\d+)*)")
_BY_HAND = "Debian's archive decides, and the hash belongs to the version"


def glance(document: Document) -> bool:
    """Say whether a file may be a lock of packages or a list of them; most are neither."""
    if document.path.endswith(".toml"):
        return b"packages" in document.data and b"suite" in document.data
    return b".deb" in document.data


def read(reading: Reading) -> None:
    """Read a lock of packages or a list of them."""
    document = reading.document
    if document.path.endswith(".toml"):
        _list(reading)
        return
    for match in _ENTRY.finditer(document.text):
        name, version = (document.traced(*match.span(group)) for group in (2, 3))
        content = f"{match[1]} {match[4]}"
        add(reading, name, version, "locked Debian package", locked=_BY_HAND, content=content)


def _list(reading: Reading) -> None:
    root = toml.parse(reading.document)
    suite = root.string("suite")
    if suite is None:
        return
    at = reading.document.located(suite)
    reading.claims.append(Claim("package", "suite", "tag", at, "Debian suite", tag=suite.text))
    for word in root.strings("packages"):
        add_word(reading, word, "Debian package list")


def add_word(reading: Reading, word: Traced, how: str) -> None:
    """Add the claims of `name` or `name=version`, as apt takes it."""
    match = _WORD.fullmatch(word.text)
    if match is not None:
        version = word.group(match, 2) if match[2] else None
        add(reading, word.group(match, 1), version, how)


def add(
    reading: Reading,
    name: Traced,
    version: Traced | None,
    how: str,
    *,
    locked: str | None = None,
    content: str = "",
) -> None:
    """Add the claims of one package: about itself, and about the toolchain that it is part of."""
    document = reading.document
    value = document.located(version if version is not None else name)
    reading.claims.append(
        Claim(
            "package", name.text, "name" if version is None else "exact", value, how,
            by_hand=locked, derived=locked is not None, content=content,
        )
    )  # fmt: skip
    for language, pattern in _NAMED:
        if match := pattern.fullmatch(name.text):
            toolchain.add(reading, language, name.group(match, 1), how, by_hand=locked)
    if version is None or UNRESOLVED in version.text:
        return
    upstream = _UPSTREAM.match(version.text)
    for language, pattern in _VERSIONED:
        if upstream is not None and pattern.fullmatch(name.text):
            toolchain.add(reading, language, version.group(upstream, 1), how, by_hand=locked)
