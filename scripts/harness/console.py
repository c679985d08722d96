"""Where the harness talks to people: progress and tables, on standard error.

Standard output carries results only, so `--format json` can be piped. rich honours NO_COLOR and
drops colour and animation where the stream is no terminal.
"""

from __future__ import annotations

from rich.console import Console

log = Console(stderr=True, highlight=False, soft_wrap=True)
out = Console(highlight=False, soft_wrap=True)


def step(message: str) -> None:
    """Say which step begins."""
    log.print(f"[bold cyan]==>[/] {message}")


def note(message: str) -> None:
    """Say something that explains a step, without markup."""
    log.print(f"    {message}", markup=False)


def warn(message: str) -> None:
    """Say something that the user should know and that stops nothing."""
    log.print("[bold yellow]warning:[/] ", end="")
    log.print(message, markup=False)
