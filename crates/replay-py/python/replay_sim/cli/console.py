"""Where the command talks to people: standard error. Standard output carries results only.

rich honours NO_COLOR and drops colour and animation where a stream is no terminal.
"""

from __future__ import annotations

from rich.console import Console

log = Console(stderr=True, highlight=False, soft_wrap=True)
out = Console(highlight=False)
