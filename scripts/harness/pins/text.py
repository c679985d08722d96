"""Files as text whose every character remembers its bytes.

`Document` decodes a file (BOMs, UTF-16 and stray bytes included) without losing a byte. `Traced`
is a string cut or assembled from a document: each character knows where it was written, so a value
that went through quotes, continuations or variable expansion still points at its origin.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

# Stands in a `Traced` for what can't be known offline: an unset variable, a template expression.
UNRESOLVED = "\0"

# Longest marks first: the UTF-16 little-endian mark is a prefix of the UTF-32 one.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDTH = {"utf-8": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_WIDE = {"utf-8": re.compile(r"[^\x00-\x7f]"), "utf-16-le": re.compile(r"[^\x00-\uffff]")}
_WIDE["utf-16-be"] = _WIDE["utf-16-le"]


class Span(NamedTuple):
    """A half-open range of bytes in a file."""

    start: int
    end: int


class Located(NamedTuple):
    """A value and the bytes that it comes from.

    `exact` says that the bytes spell the value literally, so that replacing them replaces it.
    """

    text: str
    span: Span
    exact: bool = True


class Traced:
    """A string with the document offset of each of its characters.

    An empty one is a value too, and as true as any: it has no length on purpose.
    """

    __slots__ = ("anchor", "at", "text")

    def __init__(self, text: str, at: Sequence[int], anchor: int | None = None) -> None:
        self.text = text
        self.at = at
        self.anchor = anchor if anchor is not None else (at[0] if len(at) else 0)

    def __getitem__(self, part: slice) -> Traced:
        start = part.indices(len(self.text))[0]
        anchor = self.at[start] if start < len(self.at) else self.anchor
        return Traced(self.text[part], self.at[part], anchor)

    def __repr__(self) -> str:
        return f"Traced({self.text!r} @{self.anchor})"

    def strip(self, chars: str | None = None) -> Traced:
        """Return the string without leading and trailing `chars` (default: white space)."""
        left = len(self.text) - len(self.text.lstrip(chars))
        return self[left : max(left, len(self.text.rstrip(chars)))]

    def group(self, match: re.Match[str], group: int | str = 0) -> Traced:
        """Return what `group` of a match on `self.text` covers."""
        return self[match.start(group) : match.end(group)]

    def contiguous(self) -> bool:
        """Say whether the characters stand in one unbroken run of the document."""
        if isinstance(self.at, range):
            return True
        return all(b == a + 1 for a, b in zip(self.at, self.at[1:], strict=False))


def join(parts: Iterable[Traced]) -> Traced:
    """Concatenate traced strings."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    at: list[int] = []
    for part in parts:
        at.extend(part.at)
    return Traced("".join(part.text for part in parts), at, parts[0].anchor if parts else None)


class Document:
    """One file of the repository.

    Args:
        path: Path relative to the root, with forward slashes.
        data: The bytes of the file.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.bom = 0
        self.encoding = "utf-8"
        for mark, encoding in _MARKS:
            if data.startswith(mark):
                self.bom, self.encoding = len(mark), encoding
                break

    @cached_property
    def text(self) -> str:
        """The decoded text, without its byte order mark."""
        body = self.data[self.bom :]
        if self.encoding == "utf-8":
            return body.decode("utf-8", "surrogateescape")
        whole = len(body) - len(body) % _WIDTH[self.encoding]
        return body[:whole].decode(self.encoding, "surrogatepass" if whole else "strict")

    @property
    def readable(self) -> bool:
        """Whether the bytes decode at all."""
        try:
            return self.text is not None
        except UnicodeError:
            return False

    @cached_property
    def _wide(self) -> tuple[list[int], list[int]]:
        """Offsets of the characters that take more bytes than most, and the bytes they add."""
        positions: list[int] = []
        extra = [0]
        pattern = _WIDE.get(self.encoding)
        if pattern is not None and not (self.encoding == "utf-8" and self.text.isascii()):
            for match in pattern.finditer(self.text):
                positions.append(match.start())
                size = len(match[0].encode(self.encoding, "surrogateescape"))
                extra.append(extra[-1] + size - _WIDTH[self.encoding])
        return positions, extra

    def byte(self, offset: int) -> int:
        """Return the byte at which the character `offset` starts."""
        positions, extra = self._wide
        before = bisect_left(positions, offset) if positions else 0
        return self.bom + offset * _WIDTH[self.encoding] + extra[before]

    def span(self, start: int, end: int) -> Span:
        """Return the bytes of the characters from `start` up to `end`."""
        return Span(self.byte(start), self.byte(end))

    def traced(self, start: int, end: int) -> Traced:
        """Return a piece of the text."""
        return Traced(self.text[start:end], range(start, end), start)

    def whole(self) -> Traced:
        """Return the whole text."""
        return self.traced(0, len(self.text))

    def located(self, value: Traced) -> Located:
        """Return `value` with the bytes that it comes from."""
        if not value.at:
            return Located(value.text, self.span(value.anchor, value.anchor))
        if value.contiguous():
            first, last = value.at[0], value.at[-1]
            exact = UNRESOLVED not in value.text
            exact = exact and self.text.startswith(value.text, first)
            return Located(value.text, self.span(first, last + 1), exact)
        # Assembled from several places: point at the first, and never edit.
        run = 1
        while run < len(value.at) and value.at[run] == value.at[run - 1] + 1:
            run += 1
        span = self.span(value.at[0], value.at[run - 1] + 1)
        return Located(value.text, span, exact=False)

    def encode(self, text: str) -> bytes:
        """Return `text` in the encoding of the file."""
        return text.encode(self.encoding)

    def position(self, byte: int) -> tuple[int, int]:
        """Return line and column (characters), both from 1, of a byte offset."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "replace"
        before = self.data[self.bom : byte].decode(self.encoding, errors)
        return before.count("\n") + 1, len(before) - before.rfind("\n")
