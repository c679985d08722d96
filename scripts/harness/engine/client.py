"""The one place that decides which engine and which client are used.

The engine API can't build with BuildKit, so builds go through a command-line client. A client can
do that when it is older than 23 (BuildKit built in) or has the buildx plugin; the first `docker` on
the PATH is often a newer one without the plugin, while a working one lies behind it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ToolError

if TYPE_CHECKING:
    import docker

FIRST_BUILDX_CLIENT = 23
OLDEST_SERVER_API = (1, 41)
USUAL_PLACES = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
ANSWER_SECONDS = 20.0
# Loading the builder base takes this long on a slow disk.
TRANSFER_SECONDS = 1800
INSTALL_FIX = (
    "install an engine with BuildKit (Debian, Ubuntu: `apt-get install docker.io`, newer releases "
    "also `docker-cli docker-buildx`), start it, and see that `docker version` shows a server"
)
HOST_FIX = "start the engine that DOCKER_HOST names, or unset DOCKER_HOST to use the local one"
DENIED_FIX = (
    "run as root, or join the engine's group: `sudo usermod -aG docker $USER`, log in again"
)
# buildx: the local builder whatever the user chose for other work, and no attestation, which would
# give every build another id.
CLIENT_ENVIRONMENT = {
    "DOCKER_BUILDKIT": "1",
    "BUILDX_BUILDER": "default",
    "BUILDX_NO_DEFAULT_ATTESTATIONS": "1",
}


class NoServerError(ToolError):
    """No engine answers: one may be installed or started."""


class NoBuildKitError(ToolError):
    """An engine answers, but no client here can build with BuildKit on it."""


class Problem(Enum):
    """Why a client is no use; decides what can be done about it."""

    NO_SERVER = "no server"
    DENIED = "denied"
    NO_BUILDKIT = "no BuildKit"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Engine:
    """A client that builds with BuildKit, and the server that it reaches."""

    client: Path
    server_version: str
    reason: str
    data_root: Path | None = None
    env: dict[str, str] = field(default_factory=lambda: dict(CLIENT_ENVIRONMENT))

    def describe(self) -> str:
        """Say in one line which engine was chosen and why."""
        return f"engine {self.server_version}, client {self.client} ({self.reason})"

    @cached_property
    def sdk(self) -> docker.DockerClient:
        """The SDK's connection: for inspecting, loading and running."""
        return connect(timeout=TRANSFER_SECONDS)


@dataclass(frozen=True)
class _Probe:
    """What one client said."""

    client: Path
    says: str
    problem: Problem | None = None
    server_version: str = ""


def candidates() -> list[Path]:
    """Return every `docker` on the PATH, then the usual places; each program once."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *USUAL_PLACES]
    seen: dict[Path, Path] = {}
    for folder in filter(None, folders):
        program = Path(folder) / "docker"
        if program.is_file() and os.access(program, os.X_OK):
            seen.setdefault(program.resolve(), program)
    return list(seen.values())


def _ask(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _probe(client: Path) -> _Probe:
    answer = _ask([str(client), "version", "--format", "{{json .}}"])
    if answer is None:
        return _Probe(client, f"no answer within {ANSWER_SECONDS:.0f} s", Problem.NO_SERVER)
    try:
        versions: dict[str, Any] = json.loads(answer.stdout or "{}")
    except json.JSONDecodeError:
        return _Probe(client, f"unexpected answer: {answer.stdout[:80]!r}", Problem.UNSUPPORTED)
    version = (versions.get("Client") or {}).get("Version", "")
    server = versions.get("Server")
    if "podman" in json.dumps(versions).lower():
        return _Probe(client, "podman can't build with BuildKit", Problem.UNSUPPORTED)
    if not server:
        said = (answer.stderr.strip().splitlines() or ["no server answers"])[-1]
        denied = "permission denied" in said.lower()
        return _Probe(client, said, Problem.DENIED if denied else Problem.NO_SERVER)
    api = tuple(int(part) for part in server.get("ApiVersion", "0.0").split("."))
    if api < OLDEST_SERVER_API:
        wanted = ".".join(map(str, OLDEST_SERVER_API))
        says = f"server API {server.get('ApiVersion')} is older than {wanted} (Engine 20.10)"
        return _Probe(client, says, Problem.UNSUPPORTED)
    major = version.split(".")[0]
    if major.isdigit() and int(major) < FIRST_BUILDX_CLIENT:
        return _Probe(client, "BuildKit is built into this client", None, server.get("Version", ""))
    plugin = _ask([str(client), "buildx", "version"])
    if plugin is None or plugin.returncode != 0:
        says = f"client {version} has no buildx plugin, so it can't build with BuildKit"
        return _Probe(client, says, Problem.NO_BUILDKIT)
    return _Probe(client, "it has the buildx plugin", None, server.get("Version", ""))


def _data_root(client: Path) -> Path | None:
    """Return the server's data folder when it is on this machine and can be looked at."""
    if "://" in os.environ.get("DOCKER_HOST", "") and "unix://" not in os.environ["DOCKER_HOST"]:
        return None
    answer = _ask([str(client), "info", "--format", "{{.DockerRootDir}}"])
    if answer is None or answer.returncode != 0:
        return None
    folder = Path(answer.stdout.strip())
    try:
        return folder if folder.is_dir() else None
    except PermissionError:
        return None


def find() -> Engine:
    """Return the first client that reaches a server and builds with BuildKit.

    Raises:
        NoServerError: No client, or none that reaches a server.
        NoBuildKitError: A server answers, but every client lacks BuildKit.
        ToolError: Access is denied, or the engine is one that can't be used.
    """
    failed: list[_Probe] = []
    for client in candidates():
        probe = _probe(client)
        if probe.problem is None:
            reasons = [probe.says, *(f"passed over {p.client}: {p.says}" for p in failed)]
            data_root = _data_root(client)
            return Engine(client, probe.server_version, "; ".join(reasons), data_root)
        failed.append(probe)
    raise _explain(failed)


def _explain(failed: list[_Probe]) -> ToolError:
    """Say what is wrong when no client will do."""
    where = os.environ.get("DOCKER_HOST")
    tried = "".join(f"\n  tried {probe.client}: {probe.says}" for probe in failed)
    problems = {probe.problem for probe in failed}
    if not failed:
        tried = "\n  there is no `docker` program on the PATH"
        if shutil.which("podman"):
            tried += "; podman is there, but it can't build with BuildKit"
    if Problem.NO_BUILDKIT in problems:
        message = f"the engine answers, but no client can build with BuildKit{tried}"
        return NoBuildKitError(message, where=where, fix=INSTALL_FIX)
    if Problem.DENIED in problems:
        return ToolError(f"the engine refuses this user{tried}", where=where, fix=DENIED_FIX)
    if Problem.UNSUPPORTED in problems:
        return ToolError(f"no engine that can be used{tried}", where=where, fix=INSTALL_FIX)
    fix = HOST_FIX if where else INSTALL_FIX
    return NoServerError(f"no container engine answers{tried}", where=where, fix=fix)


def connect(timeout: int = 120) -> docker.DockerClient:
    """Connect the SDK to the engine that DOCKER_HOST names, or to the local one.

    Args:
        timeout: Seconds that one call may take.

    Raises:
        NoServerError: No engine answers.
    """
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=timeout)
        client.ping()
    except DockerException as error:
        where = os.environ.get("DOCKER_HOST")
        raise NoServerError(
            f"no container engine answers: {error}",
            where=where,
            fix=HOST_FIX if where else INSTALL_FIX,
        ) from error
    return client
