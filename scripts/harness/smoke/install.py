"""Installing a wheelhouse into a fresh environment, with pip's own safeguards all on."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import ToolError
from harness.smoke.lanes.host import Interpreter, clean_environment, execute
from harness.smoke.offline import Cut
from harness.smoke.outcome import Outcome
from harness.wheels.manifest import Entry

INSTALL_SECONDS = 180
SAFEGUARDS = ("--no-index", "--require-hashes", "--only-binary", ":all:", "--no-cache-dir")


@dataclass(frozen=True)
class Installation:
    """What pip did: `report` is its own account (None where it failed), `check` is pip check."""

    outcome: Outcome
    report: dict[str, Any] | None
    check: Outcome | None


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


def install(
    environment: Path, wheelhouse: Path, entries: Sequence[Entry], cut: Cut
) -> Installation:
    """Install the pinned `entries`, and nothing else, from the wheelhouse.

    The harness's own pip does it with the environment's Python, so what is checked afterwards
    holds the wheelhouse's distributions only. The requirements are written from the manifest: the
    file in the wheelhouse is the audit's matter.
    """
    folder = environment.parent
    requirements = folder / "requirements.txt"
    lines = [f"{e.name}=={e.version} --hash=sha256:{e.sha256}\n" for e in entries]
    requirements.write_text("".join(lines), "utf-8")
    report = folder / "report.json"
    args = ["install", *SAFEGUARDS, "--no-compile", "--find-links", str(wheelhouse)]
    args += ["--report", str(report), "--requirement", str(requirements)]
    outcome = _pip(environment, args, cut)
    if outcome.exit_code != 0:
        return Installation(outcome, None, None)
    data = json.loads(report.read_text("utf-8"))
    return Installation(outcome, data, _pip(environment, ["check"], cut))


def uninstall(environment: Path, entries: Sequence[Entry], cut: Cut) -> Outcome:
    """Remove distributions from an environment."""
    return _pip(environment, ["uninstall", "--yes", *(entry.name for entry in entries)], cut)


def _pip(environment: Path, args: Sequence[str], cut: Cut) -> Outcome:
    python = environment / "bin" / "python"
    command = [*cut.prefix, sys.executable, "-I", "-m", "pip", "--isolated"]
    command += ["--python", str(python), *args]
    env = clean_environment(environment.parent, environment / "bin")
    return execute(command, cwd=environment.parent, env=env, timeout=INSTALL_SECONDS)
