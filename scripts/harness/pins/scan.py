"""Finding revision-shaped strings in bytes, fast enough for every file of a repository."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Lower-case hex digits become x, everything else a space.
_SHAPE = bytes(ord("x" if chr(code) in "0123456789abcdef" else " ") for code in range(256))
# A run of forty has eight digits in a row among every fifth byte.
_STEP = 5
_SAMPLED = b"x" * 8
_RUN = re.compile(rb"[0-9a-f]{36,}")
# Long runs (data, not names) are cut into pieces of this many bytes.
_WINDOW = 4096


def revisions(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield offset and text of every run of exactly 40 lower-case hex digits.

    A sample of the bytes is searched; only where it could be a run are all bytes looked at.
    """
    sample = data[::_STEP].translate(_SHAPE)
    at = sample.find(_SAMPLED)
    while at >= 0:
        start = max((at - 1) * _STEP + 1, 0)
        run = _RUN.search(data, start, start + _WINDOW)
        if run is None or run.start() > at * _STEP:
            at = sample.find(_SAMPLED, at + 1)
            continue
        start, end = run.span()
        alone = not (data[start - 1 : start].isalnum() or data[end : end + 1].isalnum())
        if end - start == 40 and alone:
            yield start, run[0].decode("ascii")
        at = sample.find(_SAMPLED, end // _STEP)
