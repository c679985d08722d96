"""Installing and starting an engine where none answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from harness.console import note, step
from harness.engine.client import INSTALL_FIX, Engine, NoServerError, find
from harness.errors import ToolError
from harness.process import run
from harness.system import apt_install, is_debian_root

START_SECONDS = 60.0


def ensure() -> Engine:
    """Return a working engine; install and start one where that is possible and allowed.

    The environment variable ENGINE=external forbids installing and starting.

    Raises:
        ToolError: None answers and none may or can be started; says why and what to do.
    """
    try:
        return find()
    except NoServerError as error:
        if os.environ.get("ENGINE") == "external":
            raise ToolError(
                f"{error.message}\n  ENGINE=external forbids starting one",
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
    step("No container engine answers: installing and starting one (ENGINE=external forbids it)")
    if not Path("/usr/sbin/dockerd").exists():
        apt_install("docker.io")
    _start()
    return find()


def _start() -> None:
    if Path("/run/systemd/system").is_dir():
        run(["systemctl", "start", "docker"], timeout=START_SECONDS, what="starting docker")
    else:
        program = shutil.which("dockerd") or "/usr/sbin/dockerd"
        log = Path("/var/log/dockerd.log")
        note(f"starting {program}; its log is {log}")
        with log.open("ab") as stream:
            subprocess.Popen(
                [program],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            find()
            return
        except NoServerError as error:
            if time.monotonic() > deadline:
                raise ToolError(
                    f"the engine was started and does not answer after {START_SECONDS:.0f} s",
                    where="/var/log/dockerd.log",
                    fix="read the log; on a machine without kernel support for containers no "
                    "engine can run",
                ) from error
            time.sleep(0.5)
