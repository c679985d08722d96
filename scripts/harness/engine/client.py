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
INSTALL_FIX = (
    "install an engine with BuildKit (Debian, Ubuntu: `apt-get install docker.io`, newer releases "
    "also `docker-buildx`), start it, and see that `docker version` shows a server"
)
HOST_FIX = "start the engine that DOCKER_HOST names, or unset DOCKER_HOST to use the local one"


@dataclass(frozen=True)
class Engine:
    """A client that builds with BuildKit, and the server that it reaches."""

    client: Path
    client_version: str
    server_version: str
    api_version: str
    reason: str
    data_root: Path | None = None
    passed_over: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=lambda: {"DOCKER_BUILDKIT": "1"})

    def describe(self) -> str:
        """Say in one line which engine was chosen and why."""
        return f"engine {self.server_version}, client {self.client} ({self.reason})"

    @cached_property
    def sdk(self) -> docker.DockerClient:
        """The SDK's connection: for inspecting, loading and running."""
        return connect()


@dataclass(frozen=True)
class _Probe:
    client: Path
    version: str = ""
    server: dict[str, Any] | None = None
    problem: str | None = None
    reason: str = ""
    reached: bool = False


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
        return _Probe(client, problem=f"no answer within {ANSWER_SECONDS:.0f} s")
    try:
        versions = json.loads(answer.stdout or "{}")
    except json.JSONDecodeError:
        return _Probe(client, problem=f"unexpected answer: {answer.stdout[:80]!r}")
    version = (versions.get("Client") or {}).get("Version", "")
    server = versions.get("Server")
    if not server:
        said = answer.stderr.strip().splitlines()
        return _Probe(client, version, problem=said[-1] if said else "no server answers")
    if "podman" in json.dumps(server.get("Platform", {})).lower():
        return _Probe(client, version, server, "a podman server: not supported", reached=True)
    api = tuple(int(part) for part in server.get("ApiVersion", "0.0").split("."))
    if api < OLDEST_SERVER_API:
        wanted = ".".join(map(str, OLDEST_SERVER_API))
        problem = f"server API {server.get('ApiVersion')} is older than {wanted} (Engine 20.10)"
        return _Probe(client, version, server, problem, reached=True)
    major = version.split(".")[0]
    if major.isdigit() and int(major) < FIRST_BUILDX_CLIENT:
        return _Probe(client, version, server, None, "BuildKit is built into this client", True)
    plugin = _ask([str(client), "buildx", "version"])
    if plugin is None or plugin.returncode != 0:
        problem = f"client {version} has no buildx plugin, so it can't build with BuildKit"
        return _Probe(client, version, server, problem, reached=True)
    return _Probe(client, version, server, None, "it has the buildx plugin", True)


def _data_root(client: Path) -> Path | None:
    """Return the server's data folder when it is on this machine."""
    answer = _ask([str(client), "info", "--format", "{{.DockerRootDir}}"])
    if answer is None or answer.returncode != 0:
        return None
    folder = Path(answer.stdout.strip())
    return folder if folder.is_dir() else None


class NoServerError(ToolError):
    """No engine answers: one may be installed or started."""


def find() -> Engine:
    """Return the first client that reaches a server and builds with BuildKit.

    Raises:
        NoServerError: No client, or none that reaches a server.
        ToolError: A server answers, but nothing here can build with BuildKit on it.
    """
    passed_over: list[str] = []
    reached = False
    for client in candidates():
        probe = _probe(client)
        if probe.problem is None and probe.server is not None:
            reason = (
                probe.reason
                if not passed_over
                else f"{probe.reason}; " + "; ".join(f"passed over {line}" for line in passed_over)
            )
            return Engine(
                client=client,
                client_version=probe.version,
                server_version=probe.server.get("Version", "?"),
                api_version=probe.server.get("ApiVersion", "?"),
                reason=reason,
                data_root=_data_root(client),
                passed_over=tuple(passed_over),
            )
        reached = reached or probe.reached
        passed_over.append(f"{client}: {probe.problem}")
    where = os.environ.get("DOCKER_HOST")
    fix = HOST_FIX if where else INSTALL_FIX
    tried = "".join(f"\n  tried {line}" for line in passed_over)
    if reached:
        raise ToolError(
            f"the engine answers, but no client can build with BuildKit{tried}",
            where=where,
            fix=fix,
        )
    if not passed_over:
        tried = "\n  there is no `docker` program on the PATH"
        if shutil.which("podman"):
            tried += "; podman is there, but its API can't build with BuildKit"
    raise NoServerError(f"no container engine answers{tried}", where=where, fix=fix)


def connect(timeout: int = 120) -> docker.DockerClient:
    """Connect the SDK to the engine that DOCKER_HOST names, or to the local one.

    Raises:
        NoServerError: No engine answers.
    """
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=timeout)
        client.ping()
    except DockerException as error:
        raise NoServerError(
            f"no container engine answers: {error}",
            where=(where := os.environ.get("DOCKER_HOST")),
            fix=HOST_FIX if where else INSTALL_FIX,
        ) from error
    return client
