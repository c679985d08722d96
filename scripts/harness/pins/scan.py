"""Finding revision-shaped strings in bytes, fast enough for every file of a repository."""

from __future__ import annotations

from collections.abc import Iterator

# Hex digits become x, other word characters w, everything else a space.
_SHAPE = bytes(
    ord("x") if chr(code) in "0123456789abcdef" else ord("w") if chr(code).isalnum() and code < 128
    else ord(" ")
    for code in range(256)
)  # fmt: skip
_NEEDLE = b"x" * 40


def revisions(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield offset and text of every run of exactly 40 lower-case hex digits.

    Searching one translated copy for forty equal letters skips ahead by dozens of bytes where a
    regular expression would look at each.
    """
    if len(data) < 40:
        return
    shape = data.translate(_SHAPE)
    at = shape.find(_NEEDLE)
    while at >= 0:
        end = at + 40
        while shape[end : end + 1] == b"x":
            end += 1
        alone = shape[at - 1 : at] not in (b"w", b"x") and shape[end : end + 1] != b"w"
        if end - at == 40 and alone:
            yield at, data[at:end].decode("ascii")
        at = shape.find(_NEEDLE, end)
