"""Installing and starting an engine where none answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from harness.console import note, step
from harness.engine.client import INSTALL_FIX, Engine, NoBuildKitError, NoServerError, find
from harness.errors import ToolError
from harness.process import run
from harness.system import apt_install, apt_knows, is_debian_root

START_SECONDS = 60.0
GIVE_WAY_SECONDS = 10.0
LOG = Path("/var/log/dockerd.log")
# The engine; newer releases keep the client and the plugin in packages of their own.
BUILDX = "docker-buildx"
PACKAGES = ("docker.io", "docker-cli", BUILDX)


def ensure() -> Engine:
    """Return a working engine; install and start one where that is possible and allowed.

    The environment variable ENGINE=external forbids installing and starting.

    Raises:
        ToolError: None answers and none may or can be started; says why and what to do.
    """
    try:
        return find()
    except (NoServerError, NoBuildKitError) as error:
        _require_permission(error)
        missing = isinstance(error, NoServerError)
    step("No usable container engine: installing and starting one (ENGINE=external forbids it)")
    if missing:
        # An engine from elsewhere stays; it only has to be started.
        if _dockerd() is None or shutil.which("docker") is None:
            apt_install(*filter(apt_knows, PACKAGES))
        _start()
    try:
        return find()
    except NoBuildKitError:
        apt_install(BUILDX)
        return find()


def _require_permission(error: ToolError) -> None:
    """Raise where no engine may or can be installed."""
    if os.environ.get("ENGINE") == "external":
        raise ToolError(
            f"{error.message}\n  ENGINE=external forbids installing or starting one",
            where=error.where,
            fix=INSTALL_FIX,
        ) from error
    if os.environ.get("DOCKER_HOST"):
        # The user named an engine; another one in its place would be a surprise.
        raise error
    if not is_debian_root():
        raise ToolError(
            f"{error.message}\n  the harness installs one only as root on Debian or Ubuntu",
            fix=INSTALL_FIX,
        ) from error


def _dockerd() -> str | None:
    return shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")


def _start() -> None:
    if Path("/run/systemd/system").is_dir():
        log = "journalctl -u docker"
        run(
            ["systemctl", "start", "docker"],
            timeout=START_SECONDS,
            what="starting docker",
            fix=f"read {log}",
        )
        _wait(log, None)
        return
    program = _dockerd()
    if program is None:
        raise ToolError("dockerd is not installed", fix=INSTALL_FIX)
    note(f"starting {program}; its log is {LOG}")
    with LOG.open("ab") as stream:
        process = subprocess.Popen(
            [program],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    _wait(str(LOG), process)


def _wait(log: str, process: subprocess.Popen[bytes] | None) -> None:
    """Wait until the engine answers, or ends."""
    deadline, said = time.monotonic() + START_SECONDS, ""
    while True:
        try:
            find()
            return
        except NoBuildKitError:
            return
        except NoServerError as error:
            ended = process is not None and process.poll() is not None
            if ended:
                # Installing the package can have started one as well; ours gave way to it.
                deadline = min(deadline, time.monotonic() + GIVE_WAY_SECONDS)
                process = None
                said = "ended at once"
            if time.monotonic() > deadline:
                what = said or f"does not answer after {START_SECONDS:.0f} s"
                raise ToolError(
                    f"the engine was started and {what}",
                    where=log,
                    fix="read the log; where the kernel forbids containers no engine can run",
                ) from error
            time.sleep(0.5)
