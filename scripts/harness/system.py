"""The host: what it is, and installing Debian packages on it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from harness.console import note
from harness.errors import ToolError
from harness.process import run


@cache
def os_release() -> dict[str, str]:
    """Return the fields of /etc/os-release; empty on systems without one."""
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key: value.strip('"') for key, _, value in pairs}


def is_debian() -> bool:
    """Say whether this is Debian or one of its derivatives."""
    release = os_release()
    return "debian" in (release.get("ID", ""), *release.get("ID_LIKE", "").split())


def is_debian_root() -> bool:
    """Say whether packages can be installed here."""
    return is_debian() and os.geteuid() == 0


def apt_install(*packages: str) -> None:
    """Install Debian packages on the host, after saying so.

    Raises:
        ToolError: Not root on a Debian system, or apt failed.
    """
    names = " ".join(packages)
    fix = f"apt-get update && apt-get install --no-install-recommends {names}"
    if not is_debian_root():
        raise ToolError(f"needs the Debian packages {names}", fix=f"as root: {fix}")
    note(f"apt-get install {names}")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], env=env, timeout=300, what="apt-get update", fix=fix)
    run(
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages],
        env=env,
        timeout=600,
        what=f"installing {names}",
        fix=fix,
    )
