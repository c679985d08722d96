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
LOG = Path("/var/log/dockerd.log")
# The engine; newer releases keep the client and the plugin in packages of their own.
PACKAGES = ("docker.io", "docker-cli", "docker-buildx")


def ensure() -> Engine:
    """Return a working engine; install and start one where that is possible and allowed.

    The environment variable ENGINE=external forbids installing and starting.

    Raises:
        ToolError: None answers and none may or can be started; says why and what to do.
    """
    try:
        return find()
    except (NoServerError, NoBuildKitError) as error:
        if os.environ.get("ENGINE") == "external":
            raise ToolError(
                f"{error.message}\n  ENGINE=external forbids installing or starting one",
                where=error.where,
                fix=INSTALL_FIX,
            ) from error
        if os.environ.get("DOCKER_HOST"):
            # The user named an engine; another one in its place would be a surprise.
            raise
        if not is_debian_root():
            raise ToolError(
                f"{error.message}\n  the harness installs one only as root on Debian or Ubuntu",
                fix=INSTALL_FIX,
            ) from error
        server = isinstance(error, NoBuildKitError)
    step("No usable container engine: installing and starting one (ENGINE=external forbids it)")
    _install()
    if not server:
        _start()
    return find()


def _dockerd() -> str | None:
    return shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")


def _install() -> None:
    """Install what is missing; an engine from elsewhere stays."""
    present = {
        "docker.io": _dockerd() is not None,
        "docker-cli": shutil.which("docker") is not None,
    }
    missing = [name for name in PACKAGES if not present.get(name) and apt_knows(name)]
    if missing:
        apt_install(*missing)


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
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            find()
            return
        except NoServerError as error:
            ended = process is not None and process.poll() is not None
            if ended or time.monotonic() > deadline:
                what = "ended at once" if ended else f"does not answer after {START_SECONDS:.0f} s"
                raise ToolError(
                    f"the engine was started and {what}",
                    where=log,
                    fix="read the log; where the kernel forbids containers no engine can run",
                ) from error
            time.sleep(0.5)
