"""Running other programs: one function, one kind of error."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import ToolError


def tied(command: Sequence[str | Path]) -> list[str]:
    """Return `command` so that it dies with the harness, even when that is killed outright.

    A build client that outlives its run goes on, and the next run's equal step would wait for it.
    """
    prefix = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return [*prefix, *map(str, command)]


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    what: str | None = None,
    fix: str | None = None,
) -> str:
    """Run `command` to its end and return its standard output.

    Args:
        command: Program and arguments.
        cwd: Working folder.
        env: Variables on top of the environment.
        timeout: Seconds until the program is killed.
        what: What the program was doing, for the error.
        fix: What the user can do when it fails.

    Raises:
        ToolError: The program is missing, timed out or failed; carries the end of its output.
    """
    words = [str(word) for word in command]
    what = what or " ".join(words[:3])
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise ToolError(f"{what}: {words[0]} is not installed", fix=fix) from error
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{what}: no answer within {timeout:g} s", fix=fix) from error
    if done.returncode != 0:
        tail = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-15:])
        raise ToolError(f"{what} failed (exit {done.returncode})\n{tail}", fix=fix)
    return done.stdout
