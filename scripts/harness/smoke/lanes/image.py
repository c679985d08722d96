"""The image lanes: each run is a fresh container without network, privileges, writable root."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ToolError
from harness.smoke.containers import LABEL, owner
from harness.smoke.image_facts import ImageFacts
from harness.smoke.lanes.lane import Kind, Program, Work
from harness.smoke.outcome import Outcome

if TYPE_CHECKING:
    import docker

PYTHON = "/opt/replay/bin/python"
TIMED_OUT = 124
PIDS = 256
# Where the container sees the files of a case.
INPUTS, OUT, TRACE, SCRIPTS = "/smoke/inputs", "/smoke/out", "/smoke/trace", "/smoke/scripts"
REFUSED_GPU = "could not select device driver"


class NoGpuError(Exception):
    """The engine has no GPU to give."""


def kind_of(name: str) -> Kind:
    """Return "gpu" for an image whose tag says so (replay-sim:gpu, …:0.13.0-gpu), else "cpu"."""
    tag = name.rpartition(":")[2] if ":" in name.rpartition("/")[2] else ""
    return "gpu" if tag.split("-")[-1] == "gpu" else "cpu"


@dataclass(frozen=True)
class ImageLane:
    """An image, run as its own user unless `user` names another.

    It is run by id: a build that finishes meanwhile does not mix in.
    """

    name: str
    kind: Kind
    client: docker.DockerClient
    facts: ImageFacts
    scripts: Path
    gpus: bool = False
    user: str | None = None

    def places(self, work: Work) -> dict[str, str]:
        """Return where the container sees the files."""
        trace = {"trace": f"{TRACE}/{work.trace.name}"} if work.trace else {}
        return {"inputs": INPUTS, "out": OUT, **trace}

    def run(self, program: Program, args: Sequence[str], *, work: Work, timeout: float) -> Outcome:
        """Run the image's entrypoint, or its Python, as the image's own user.

        Raises NoGpuError where the lane wants a GPU and the engine has none.
        """
        import docker
        import requests

        volumes = {str(work.inputs): INPUTS, str(work.out): OUT, str(self.scripts): SCRIPTS}
        if work.trace:
            volumes[str(work.trace.resolve())] = f"{TRACE}/{work.trace.name}"
        entrypoint = [PYTHON] if program == "python" else None
        started = time.monotonic()
        try:
            code, stdout, stderr = self._run(args, entrypoint, volumes, timeout)
        except (docker.errors.DockerException, requests.RequestException) as error:
            raise ToolError(
                f"the engine failed: {error}",
                where=self.name,
                fix="see that `docker version` shows a server, then run it again",
            ) from error
        return Outcome(
            self._equivalent(args, entrypoint, volumes),
            TIMED_OUT if code is None else code,
            stdout,
            stderr,
            time.monotonic() - started,
            work.written(),
            timed_out=code is None,
        )

    def _run(
        self,
        args: Sequence[str],
        entrypoint: list[str] | None,
        volumes: dict[str, str],
        timeout: float,
    ) -> tuple[int | None, bytes, bytes]:
        import docker
        import requests

        container = self.client.containers.create(
            self.facts.id,
            command=list(args),
            entrypoint=entrypoint,
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            pids_limit=PIDS,
            labels={LABEL: owner()},
            user=self.user,
            volumes={
                path: {"bind": place, "mode": "rw" if place == OUT else "ro"}
                for path, place in volumes.items()
            },
            device_requests=[docker.types.DeviceRequest(count=-1, capabilities=[["gpu"]])]
            if self.gpus
            else None,
        )
        try:
            try:
                container.start()
            except docker.errors.APIError as error:
                if REFUSED_GPU in str(error):
                    raise NoGpuError(str(error.explanation)) from error
                raise
            code: int | None
            try:
                code = int(container.wait(timeout=timeout)["StatusCode"])
            except (requests.ReadTimeout, requests.ConnectionError):
                code = None
                # It may have ended by itself in this very moment.
                with contextlib.suppress(docker.errors.APIError):
                    container.kill()
            logs = [
                bytes(container.logs(stdout=wanted, stderr=not wanted)) for wanted in (True, False)
            ]
            return code, logs[0], logs[1]
        finally:
            container.remove(force=True)

    def _equivalent(
        self, args: Sequence[str], entrypoint: list[str] | None, volumes: dict[str, str]
    ) -> list[str]:
        """Return the command line that runs the same container by hand."""
        command = ["docker", "run", "--rm", "--network", "none", "--read-only"]
        command += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        command += ["--pids-limit", str(PIDS)]
        if self.gpus:
            command += ["--gpus", "all"]
        if self.user:
            command += ["--user", self.user]
        for path, place in volumes.items():
            command += ["--volume", f"{path}:{place}:{'rw' if place == OUT else 'ro'}"]
        if entrypoint:
            command += ["--entrypoint", shlex.join(entrypoint)]
        return [*command, self.name, *args]
