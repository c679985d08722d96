"""Toolchain files: rust-toolchain, rust-toolchain.toml, .python-version, .tool-versions."""

from __future__ import annotations

import re

from harness.pins import toml
from harness.pins.text import Traced
from harness.pins.tokens import Claim, Reading, ToolchainFile

NAME = "toolchain"
_LINE = re.compile(r"^[ \t]*([^\s#][^\n#]*?)[ \t\r]*(?:#.*)?$", re.MULTILINE)
_HOST = re.compile(r"-(?:x86_64|aarch64|i686|armv7|arm|riscv64gc|powerpc64le|s390x)[\w-]*$")


def read(reading: Reading) -> None:
    """Read one toolchain file."""
    document = reading.document
    name = document.path.rpartition("/")[2]
    if name == ".python-version":
        for match in _LINE.finditer(document.text):
            _python(reading, document.traced(*match.span(1)))
        return
    if name == ".tool-versions":
        for match in re.finditer(r"^[ \t]*(rust|python)[ \t]+(\S+)", document.text, re.MULTILINE):
            add(reading, match[1], document.traced(*match.span(2)), name)
        return
    legacy = name == "rust-toolchain"
    if legacy and "[" not in document.text:
        found = _LINE.search(document.text)
        channel = document.traced(*found.span(1)) if found else None
    else:
        channel = toml.parse(document).table("toolchain").string("channel")
    if channel is not None:
        add(reading, "rust", channel, f"{name} channel")
    located = document.located(channel) if channel is not None else None
    reading.facts.append(ToolchainFile("rust", located, legacy))


def _python(reading: Reading, text: Traced) -> None:
    match = re.fullmatch(r"(?:cpython[-@]|python-?)?(\d[\w.]*?)(?:-[a-z].*)?", text.text)
    if match is not None:
        text = text.group(match, 1)
        add(reading, "python", text, ".python-version")
        reading.facts.append(ToolchainFile("python", reading.document.located(text)))


def add(
    reading: Reading, name: str, channel: Traced, how: str, *, by_hand: str | None = None
) -> None:
    """Add the claim of a channel of rust or python, without a host triple."""
    channel = channel.strip()
    host = _HOST.search(channel.text) if name == "rust" else None
    if host is not None:
        channel = channel[: host.start()]
    if channel.text:
        at = reading.document.located(channel)
        reading.claims.append(
            Claim("toolchain", name, "tag", at, how, tag=channel.text, by_hand=by_hand)
        )
