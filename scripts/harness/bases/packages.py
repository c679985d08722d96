"""Debian packages: which ones a base is made of, and getting them.

apt runs with the host's own sources, proxies and certificates, but on an empty package database, so
the answer does not depend on what the host has installed. deps/debian-NAME.lock records every
package with its hash. Debian's archive keeps only the newest version, so a locked one can be gone.
Then the newest is used, with a warning that names what moved; BASE_LOCK=strict stops instead.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from harness.bases.definition import Base
from harness.console import note, warn
from harness.errors import InputError, ToolError
from harness.files import write_atomically
from harness.process import run
from harness.system import apt_install, os_release
from harness.workspace import Workspace

_URI = re.compile(r"^'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) SHA256:(?P<sha256>[0-9a-f]{64})$")
_LOCK = re.compile(r"^(?P<sha256>[0-9a-f]{64})  (?P<file>\S+\.deb)$")
FETCH_SECONDS = 900
MIRROR_FIX = "see that apt reaches a mirror, or set DEBIAN_MIRROR to the one that this network uses"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MERGED_USR = Path("/usr/share/mmdebstrap/hooks/merged-usr")


def require_mmdebstrap() -> None:
    """See that mmdebstrap is here; install it where that is possible."""
    if shutil.which("mmdebstrap") is None or not MERGED_USR.is_dir():
        note("bases from Debian packages need mmdebstrap")
        apt_install("mmdebstrap")


def lock_file(workspace: Workspace, base: Base) -> Path:
    """Return where the packages of a base are locked."""
    return workspace.deps / f"debian-{base.name}.lock"


def read_lock(file: Path) -> dict[str, str]:
    """Return file name to sha256.

    Raises:
        InputError: A line is malformed.
    """
    packages = {}
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for number, line in enumerate(lines, start=1):
        if line and not line.startswith("#"):
            row = _LOCK.match(line)
            if row is None:
                raise InputError(
                    "expected `SHA256  FILE.deb`", where=f"{file}:{number}", fix="make lock"
                )
            packages[row["file"]] = row["sha256"]
    return packages


def write_lock(file: Path, base: Base, packages: dict[str, str]) -> None:
    """Write a lock; `sha256sum --check` reads it too."""
    head = f"# Packages of the {base.name} base ({base.suite}, amd64). Written by `make lock`.\n"
    rows = "".join(f"{sha}  {name}\n" for name, sha in sorted(packages.items()))
    write_atomically(file, head + rows)


@dataclass(frozen=True)
class Apt:
    """apt on an empty package database of its own."""

    folder: Path
    suite: str

    def _options(self) -> list[str]:
        settings = {
            "Dir::State": self.folder / "state",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "Dir::Cache::archives": self.folder / "archives",
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "",
            "Acquire::ForceHash": "SHA256",
            "Acquire::Retries": "3",
            # Without it apt goes on with yesterday's lists, or with none.
            "APT::Update::Error-Mode": "any",
            "Acquire::http::Timeout": "60",
            "Debug::NoLocking": "true",
        }
        sources = self._sources()
        if sources:
            settings |= {"Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "/dev/null"}
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def _sources(self) -> Path | None:
        """Return a source list of our own where the host's is not for this suite."""
        mirror = os.environ.get("DEBIAN_MIRROR")
        own = (
            os_release().get("VERSION_CODENAME") == self.suite
            and os_release().get("ID") == "debian"
        )
        if own and not mirror:
            return None
        if not KEYRING.is_file():
            apt_install("debian-archive-keyring")
        if mirror:
            rows = [f"{mirror} {name} main" for name in (self.suite, f"{self.suite}-updates")]
        else:
            rows = self._default_sources()
        file = self.folder / "sources.list"
        file.write_text("".join(f"deb [signed-by={KEYRING}] {row}\n" for row in rows))
        return file

    def _default_sources(self) -> list[str]:
        """Return the sources that mmdebstrap takes for this suite when none are named."""
        require_mmdebstrap()
        target = self.folder / "defaults"
        mode = "root" if os.geteuid() == 0 else "unshare"
        run(
            [
                "mmdebstrap",
                "--quiet",
                "--variant=custom",
                f"--mode={mode}",
                "--format=directory",
                "--skip=update,check/empty",
                self.suite,
                target,
            ],
            timeout=60,
            what="asking mmdebstrap for its default sources",
            fix=MIRROR_FIX,
        )
        lines = (target / "etc/apt/sources.list").read_text(encoding="utf-8").splitlines()
        # `deb [options] URI SUITE COMPONENT`
        return [re.sub(r"^deb +(\[[^]]*\] +)?", "", row) for row in lines if row.startswith("deb ")]

    def update(self) -> None:
        """Fetch the package lists."""
        for name in ("state/lists/partial", "cache", "archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        run(
            ["apt-get", *self._options(), "update", "-qq"],
            timeout=FETCH_SECONDS,
            what="fetching Debian's package lists",
            fix=MIRROR_FIX,
        )

    def resolve(self, requested: tuple[str, ...]) -> dict[str, str]:
        """Return file name to sha256 of every package that `requested` needs."""
        text = run(
            ["apt-get", *self._options(), "install", "--print-uris", "-qq", "-y", *requested],
            timeout=120,
            what="resolving Debian packages",
            fix=MIRROR_FIX,
        )
        packages = {}
        for line in filter(lambda line: line.startswith("'"), text.splitlines()):
            row = _URI.match(line)
            if row is None:
                raise ToolError(f"a package without a SHA256: {line}", fix=MIRROR_FIX)
            packages[unquote(row["file"])] = row["sha256"]
        return packages

    def download(self, requested: tuple[str, ...], pool: Path) -> None:
        """Download every package that `requested` needs into `pool`."""
        run(
            ["apt-get", *self._options(), "install", "--download-only", "-qq", "-y", *requested],
            timeout=FETCH_SECONDS,
            what="downloading Debian packages",
            fix=MIRROR_FIX,
        )
        pool.mkdir(parents=True, exist_ok=True)
        for path in (self.folder / "archives").glob("*.deb"):
            shutil.move(path, pool / unquote(path.name))


def sha256_of(path: Path) -> str:
    """Return a file's sha256."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _missing(pool: Path, packages: dict[str, str]) -> list[str]:
    """Return what is not in the pool with the right content."""
    return [
        name
        for name, sha in packages.items()
        if not (pool / name).is_file() or sha256_of(pool / name) != sha
    ]


def obtain(workspace: Workspace, base: Base, pool: Path) -> dict[str, str]:
    """See that the packages of a base lie in `pool`; return file name to sha256.

    Raises:
        ToolError: A download failed, or the archive moved on and BASE_LOCK=strict.
    """
    locked = read_lock(lock_file(workspace, base))
    if locked and not _missing(pool, locked):
        return locked
    with workspace.scratch() as folder:
        apt = Apt(folder, base.suite)
        note(f"asking apt for the {base.name} base's packages")
        apt.update()
        found = apt.resolve(base.requested)
        if locked and found != locked:
            report_drift(workspace, base, locked, found)
        if _missing(pool, found):
            note(f"downloading {len(found)} packages")
            apt.download(base.requested, pool)
    if wrong := _missing(pool, found):
        raise ToolError(f"not downloaded, or with another hash than apt announced: {wrong}")
    return found


def report_drift(
    workspace: Workspace, base: Base, locked: dict[str, str], found: dict[str, str]
) -> None:
    """Say what differs from the lock.

    Raises:
        ToolError: BASE_LOCK=strict.
    """
    moved = sorted(set(found.items()) - set(locked.items()))
    names = ", ".join(name for name, _ in moved[:6]) + (", …" if len(moved) > 6 else "")
    where = str(lock_file(workspace, base).relative_to(workspace.root))
    message = f"Debian's archive moved on from {where}: {len(moved)} packages, {names}"
    if os.environ.get("BASE_LOCK") == "strict":
        raise ToolError(message, where=where, fix="make lock, or unset BASE_LOCK")
    warn(f"{message}; building from the archive's (`make lock` records them)")


def repository(base: Base, pool: Path, packages: dict[str, str], folder: Path) -> Path:
    """Lay out the packages as a local archive for apt."""
    folder.mkdir(parents=True)
    stanzas = []
    for name, sha in sorted(packages.items()):
        (folder / name).hardlink_to(pool / name)
        control = run(["dpkg-deb", "--field", folder / name], what="reading a package").rstrip()
        size = (folder / name).stat().st_size
        stanzas.append(f"{control}\nFilename: ./{name}\nSize: {size}\nSHA256: {sha}\n")
    index = folder / "Packages"
    index.write_text("\n".join(stanzas), encoding="utf-8")
    # mmdebstrap chooses the essential packages by suite, which only a Release file names.
    (folder / "Release").write_text(
        f"Suite: {base.suite}\nCodename: {base.suite}\nDate: Thu, 01 Jan 1970 00:00:00 UTC\n"
        f"SHA256:\n {sha256_of(index)} {index.stat().st_size} Packages\n",
        encoding="utf-8",
    )
    return folder
