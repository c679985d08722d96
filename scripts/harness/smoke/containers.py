"""The containers that a smoke run makes: marked, so that none outlives its run for long."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import docker

LABEL = "org.replay.smoke"


def owner() -> str:
    """Return what marks the containers of this process: where it runs, and its id."""
    return f"{socket.gethostname()}:{os.getpid()}"


def remove_containers(client: docker.DockerClient, *, of_this_process: bool) -> None:
    """Remove the containers of this process, or those of runs whose process is gone."""
    for container in client.containers.list(
        all=True, filters={"label": [LABEL]}, ignore_removed=True
    ):
        label = str(container.labels[LABEL])
        host, _, process = label.rpartition(":")
        gone = host == socket.gethostname() and not Path("/proc", process).exists()
        if label == owner() if of_this_process else gone:
            container.remove(force=True)
