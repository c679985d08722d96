"""Where the command talks to people: standard error. Standard output carries results only.

rich honours NO_COLOR and drops colour and animation where a stream is no terminal.
"""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement

log = Console(stderr=True, highlight=False, soft_wrap=True)
out = Console(highlight=False)

#: No table is wider; a line that a narrow terminal wraps still has all its digits.
WIDEST = 300


def show(*tables: RenderableType) -> None:
    """Print tables as results, wider than the terminal rather than with digits cut off."""
    for table in tables:
        needed = Measurement.get(out, out.options.update(max_width=WIDEST), table).maximum
        out.width = max(needed, out.width)
        out.print(table)
