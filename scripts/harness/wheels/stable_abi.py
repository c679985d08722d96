"""CPython's stable ABI: which symbols it has, and since which version."""

from __future__ import annotations

import re
from functools import cache

from abi3info import DATAS, FUNCTIONS  # type: ignore[import-untyped]

PYTHON_SYMBOL = re.compile(r"_?Py[A-Z_]\w*")


@cache
def _added() -> dict[str, tuple[int, int]]:
    entries = [*FUNCTIONS.values(), *DATAS.values()]
    return {e.symbol.name: (e.added.major, e.added.minor) for e in entries}


def is_python_symbol(name: str) -> bool:
    """Whether a symbol name belongs to CPython's C API, public or private."""
    return PYTHON_SYMBOL.fullmatch(name) is not None


def added_in(name: str) -> tuple[int, int] | None:
    """Return the Python version whose stable ABI first has a symbol; None where none has."""
    return _added().get(name)
