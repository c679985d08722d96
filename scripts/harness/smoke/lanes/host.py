"""The host lane: a fresh virtual environment outside the checkout, with the network cut."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import HarnessError, InputError, ToolError
from harness.smoke.lanes.lane import Kind, Program, Work
from harness.smoke.offline import Cut
from harness.smoke.outcome import Outcome

ANSWER_SECONDS = 30
TIMED_OUT = 124
NAMED = re.compile(r"python3\.\d+")
VERSION = "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"


@dataclass(frozen=True)
class Interpreter:
    """A Python on this machine: its path and its version, e.g. 3.11."""

    path: Path
    version: str


def find_interpreter(name: str) -> Interpreter:
    """Return the Python that a path, a program name or a version (3.12) means.

    Raises InputError where there is none, and ToolError where it does not start or is too old.
    """
    program = f"python{name}" if name.replace(".", "").isdigit() else name
    found = shutil.which(program)
    if found is None:
        raise InputError(f"no Python {name}", fix="give a path: --python /…/bin/python3.12")
    done = subprocess.run(
        [found, "-I", "-c", VERSION],
        capture_output=True,
        text=True,
        timeout=ANSWER_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise ToolError(
            f"it does not start: {done.stderr.strip()}",
            where=found,
            fix="give the interpreter's own path with --python",
        )
    path, version = done.stdout.rsplit(maxsplit=1)
    if tuple(map(int, version.split("."))) < (3, 11):
        raise ToolError(f"Python {version} is too old", where=found, fix="use 3.11 or newer")
    return Interpreter(Path(path), version)


def find_interpreters() -> list[Interpreter]:
    """Return this Python, and every other version from 3.11 that the PATH has and that starts."""
    own = find_interpreter(sys.executable)
    found = {own.version: own}
    for folder in map(Path, os.get_exec_path()):
        for path in sorted(folder.glob("python3.*")):
            if NAMED.fullmatch(path.name) and path.name.removeprefix("python") not in found:
                # A version manager leaves programs that only say what could be installed.
                with contextlib.suppress(HarnessError):
                    interpreter = find_interpreter(str(path))
                    found.setdefault(interpreter.version, interpreter)
    return sorted(found.values(), key=lambda each: tuple(map(int, each.version.split("."))))


def clean_environment(home: Path, binaries: Path) -> dict[str, str]:
    """Return an environment that says nothing about this machine's Pythons, indexes or proxies."""
    return {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": os.pathsep.join([str(binaries), "/usr/bin", "/bin"]),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONNOUSERSITE": "1",
        "TMPDIR": str(home),
    }


_running: set[subprocess.Popen[bytes]] = set()


def execute(command: Sequence[str], *, cwd: Path, env: dict[str, str], timeout: float) -> Outcome:
    """Run a command and everything that it starts, and end all of it at the timeout."""
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _running.add(process)
    timed_out = False
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        _end(process)
        stdout, stderr = process.communicate()
    finally:
        _running.discard(process)
    code = TIMED_OUT if timed_out else process.returncode
    seconds = time.monotonic() - started
    return Outcome(tuple(command), code, stdout, stderr, seconds, timed_out=timed_out)


def end_running() -> None:
    """End every command that `execute` still waits for in other threads."""
    for process in list(_running):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class HostLane:
    """An environment made by `harness.smoke.install`; the folder that it lies in is its home."""

    name: str
    environment: Path
    cut: Cut
    kind: Kind = "host"

    def places(self, work: Work) -> dict[str, str]:
        """Return the paths themselves: the host lane sees the files where they are."""
        trace = {"trace": str(work.trace)} if work.trace else {}
        return {"inputs": str(work.inputs), "out": str(work.out), **trace}

    def run(self, program: Program, args: Sequence[str], *, work: Work, timeout: float) -> Outcome:
        """Run `bin/<program>` of the environment, in the folder where it may write."""
        binaries = self.environment / "bin"
        command = [*self.cut.prefix, str(binaries / program), *args]
        env = clean_environment(self.environment.parent, binaries)
        outcome = execute(command, cwd=work.out, env=env, timeout=timeout)
        return replace(outcome, files=work.written())
