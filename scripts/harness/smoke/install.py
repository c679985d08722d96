"""Installing a wheelhouse into a fresh environment, with pip's own safeguards all on."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import ToolError
from harness.smoke.lanes.host import Interpreter, clean_environment, execute
from harness.smoke.offline import Cut
from harness.smoke.outcome import Outcome
from harness.wheels.manifest import Entry

INSTALL_SECONDS = 180
SAFEGUARDS = ("--only-binary", ":all:", "--no-cache-dir", "--no-compile")


@dataclass(frozen=True)
class Origin:
    """Where pip takes wheels from: its options, and what every URL of its report begins with."""

    options: tuple[str, ...]
    url: str


def folder_of_wheels(folder: Path) -> Origin:
    """Take them from a wheelhouse, and from no index."""
    return Origin(("--no-index", "--find-links", str(folder)), folder.as_uri() + "/")


@dataclass(frozen=True)
class Installation:
    """What pip did: `report` is its own account (None where it failed), `check` is pip check."""

    outcome: Outcome
    origin: Origin
    report: dict[str, Any] | None = None
    check: Outcome | None = None


def make_environment(interpreter: Interpreter, folder: Path) -> Path:
    """Make an empty environment (no pip in it) in `folder`; raises ToolError where that fails."""
    folder.mkdir(parents=True)
    environment = folder / "env"
    command = [str(interpreter.path), "-I", "-m", "venv", "--without-pip", str(environment)]
    env = clean_environment(folder, environment / "bin")
    done = execute(command, cwd=folder, env=env, timeout=INSTALL_SECONDS)
    if done.exit_code != 0:
        raise ToolError(
            f"no virtual environment could be made\n{done.tail()}",
            where=str(interpreter.path),
            fix="install the venv module of this Python (Debian: python3-venv)",
        )
    return environment


def install(environment: Path, origin: Origin, entries: Sequence[Entry], cut: Cut) -> Installation:
    """Install the pinned `entries`, and nothing else, by their hashes.

    The harness's own pip does it with the environment's Python, so what is checked afterwards
    holds the wheelhouse's distributions only. The requirements are written from the manifest: the
    file in the wheelhouse is the audit's matter.
    """
    requirements = environment.parent / "requirements.txt"
    lines = [f"{e.name}=={e.version} --hash=sha256:{e.sha256}\n" for e in entries]
    requirements.write_text("".join(lines), "utf-8")
    args = ["--require-hashes", "--requirement", str(requirements)]
    done = _install(environment, origin, args, cut)
    if done.report is None:
        return done
    return replace(done, check=_pip(environment, ["check"], cut))


def resolve(environment: Path, origin: Origin, entries: Sequence[Entry], cut: Cut) -> Installation:
    """Let pip find what `entries`, named by version alone, need; nothing is installed."""
    wanted = [f"{entry.name}=={entry.version}" for entry in entries]
    return _install(environment, origin, ["--dry-run", *wanted], cut)


def _install(environment: Path, origin: Origin, args: Sequence[str], cut: Cut) -> Installation:
    report = environment.parent / "report.json"
    words = ["install", *SAFEGUARDS, *origin.options, "--report", str(report), *args]
    outcome = _pip(environment, words, cut)
    if outcome.exit_code != 0:
        return Installation(outcome, origin)
    return Installation(outcome, origin, json.loads(report.read_text("utf-8")))


def pip_failure(outcome: Outcome) -> list[str]:
    """Return what pip said where it failed, as one problem."""
    if outcome.exit_code == 0:
        return []
    # pip explains a conflict on standard output, and only names it on standard error.
    said = (outcome.stdout[-2000:] + outcome.stderr[-2000:]).decode("utf-8", "replace")
    return [f"pip ended with {outcome.exit_code}: {said.strip()}"]


def uninstall(environment: Path, entries: Sequence[Entry], cut: Cut) -> Outcome:
    """Remove distributions from an environment."""
    return _pip(environment, ["uninstall", "--yes", *(entry.name for entry in entries)], cut)


def _pip(environment: Path, args: Sequence[str], cut: Cut) -> Outcome:
    python = environment / "bin" / "python"
    command = [*cut.prefix, sys.executable, "-I", "-m", "pip", "--isolated"]
    command += ["--python", str(python), *args]
    env = clean_environment(environment.parent, environment / "bin")
    return execute(command, cwd=environment.parent, env=env, timeout=INSTALL_SECONDS)
