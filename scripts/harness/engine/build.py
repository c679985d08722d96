"""Building with the command-line client: arguments in, progress and a log out."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from harness.console import log
from harness.engine.client import Engine
from harness.errors import ToolError
from harness.network import Secrets
from harness.process import tied

# BuildKit's plain log: "#12 [wheels 3/7] RUN …", "#12 CACHED", "#12 DONE 3.1s".
_STEP = re.compile(r"^#\d+ \[(?P<name>[^\]]+)\] (?P<what>.*)")
_FAILED = re.compile(r"^#(?P<step>\d+) ERROR: (?P<text>.*)")
_QUIET_SECONDS = 15.0
_TAIL_LINES = 400
_SHOWN_LINES = 20


@dataclass(frozen=True)
class Build:
    """One call of the client.

    `network` is "none" for every step that may only use what was downloaded before, and "host" for
    the steps that download (so that proxies and mirrors on the host's loopback are reached).
    """

    name: str
    dockerfile: Path
    context: Path
    target: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    network: str = "none"
    secrets: Secrets | None = None
    output: Path | None = None
    tag: str | None = None

    def command(self, engine: Engine) -> list[str]:
        """Return the client's command line."""
        words = [str(engine.client), "build", "--progress", "plain", "--network", self.network]
        words += ["--file", str(self.dockerfile), "--target", self.target]
        for name, value in sorted(self.arguments.items()):
            words += ["--build-arg", f"{name}={value}"]
        words += self.secrets.arguments() if self.secrets else []
        if self.output:
            words += ["--output", f"type=local,dest={self.output}"]
        if self.tag:
            words += ["--tag", self.tag]
        return [*words, str(self.context)]


def build(engine: Engine, request: Build, logs: Path) -> None:
    """Run one build; show its steps while it runs and keep its whole output in `logs`.

    Raises:
        ToolError: The build failed; carries the end of its output and the log's place.
    """
    logs.mkdir(parents=True, exist_ok=True)
    path = logs / f"{request.name}.log"
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    # A line at a time, so that `tail -f` shows what goes on.
    with (
        path.open("w", encoding="utf-8", buffering=1) as stream,
        subprocess.Popen(
            tied(request.command(engine)),
            env={**os.environ, **engine.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        try:
            _follow(process, request.name, stream.write, tail)
        except BaseException:
            _stop(process)
            raise
    if process.returncode != 0:
        raise ToolError(
            f"building {request.name} failed (exit {process.returncode})\n"
            + _what_failed(list(tail)),
            where=str(path),
            fix="the log has the whole output; finished steps are kept for the next run",
        )


def _what_failed(lines: list[str]) -> str:
    """Return the output of the step that failed; BuildKit mixes it with everything else."""
    failed = next((m for line in reversed(lines) if (m := _FAILED.match(line))), None)
    if failed:
        own = re.compile(rf"^#{failed['step']} (?P<seconds>[\d.]+ )(?P<text>.*)")
        lines = [row["text"] for row in map(own.match, lines) if row] or [failed["text"]]
    return "\n".join(lines[-_SHOWN_LINES:])


def _follow(
    process: subprocess.Popen[str], name: str, write: Callable[[str], object], tail: deque[str]
) -> None:
    assert process.stdout is not None
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=log, transient=True, disable=not log.is_terminal) as progress:
        task = progress.add_task(name, total=None)
        said = time.monotonic()
        for line in process.stdout:
            write(line)
            tail.append(line.rstrip())
            if step := _STEP.match(line):
                text = f"{name}: {step['name']}"
                progress.update(task, description=text)
                # Where nothing can be redrawn (CI), a line now and then shows that work goes on.
                if not log.is_terminal and time.monotonic() - said > _QUIET_SECONDS:
                    log.print(f"    {text}", markup=False)
                    said = time.monotonic()
        process.wait()


def _stop(process: subprocess.Popen[str]) -> None:
    """End the client's whole group: the daemon cancels a build whose client goes."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return
