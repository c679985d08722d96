"""The bar of a long replay: on a terminal, and only once it takes a while."""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from replay_sim import api
from replay_sim.cli.console import log


class ReplayBar:
    """A context in which `update` shows how far a replay is."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} requests"),
            TextColumn("{task.fields[clock]}"),
            TimeElapsedColumn(),
            console=log,
            transient=True,
            disable=not log.is_terminal,
        )

    def update(self, what: str, progress: api.Progress) -> None:
        """Show the state of a replay; the first call shows the bar."""
        clock = f"{progress.now_ms / 1e3:,.0f} s simulated"
        if not self._bar.tasks:
            self._bar.add_task(what, total=progress.total, clock=clock)
            self._bar.start()
        task = self._bar.tasks[0].id
        self._bar.update(task, description=what, completed=progress.ended, clock=clock)

    def __enter__(self) -> ReplayBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
