"""The host: what it is, and installing Debian packages on it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from harness.console import note
from harness.errors import ToolError
from harness.process import run

APT_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive"}
# Another apt (unattended upgrades on a new machine) is waited for; nothing of the host is removed.
APT_OPTIONS = ("-o", "DPkg::Lock::Timeout=300", "--no-remove", "--no-install-recommends")


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


@cache
def _apt_update() -> None:
    """Bring the host's package lists up to date, once a run."""
    run(
        ["apt-get", "update", "-qq"],
        env=APT_ENVIRONMENT,
        timeout=300,
        what="apt-get update",
        fix="see that apt-get update works",
    )


def apt_knows(package: str) -> bool:
    """Say whether apt can install a package here."""
    _apt_update()
    text = run(["apt-cache", "policy", package], timeout=60)
    return "Candidate:" in text and "Candidate: (none)" not in text


def apt_install(*packages: str) -> None:
    """Install Debian packages on the host, after saying so.

    Raises:
        ToolError: Not root on a Debian system, or apt failed.
    """
    names = " ".join(packages)
    fix = f"apt-get update && apt-get install {names}"
    if not is_debian_root():
        raise ToolError(f"needs the Debian packages {names}", fix=f"as root: {fix}")
    note(f"apt-get install {names}")
    _apt_update()
    run(
        ["apt-get", "install", "-qq", "-y", *APT_OPTIONS, *packages],
        env=APT_ENVIRONMENT,
        timeout=900,
        what=f"installing {names}",
        fix=fix,
    )
