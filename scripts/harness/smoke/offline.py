"""Taking the network away from a program, for real: it runs in an empty network namespace."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.errors import ToolError

ANSWER_SECONDS = 10
FIX = (
    "run as root, or let users make namespaces (sysctl kernel.unprivileged_userns_clone=1), "
    "or leave the host out: --image replay-sim:cpu --image replay-sim:gpu"
)


@dataclass(frozen=True)
class Cut:
    """Words to put before a command so that it runs without a network, and how that works."""

    prefix: tuple[str, ...]
    how: str


def find_cut() -> Cut:
    """Return a way to cut the network that works here; raises ToolError where there is none."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise ToolError("the network can't be cut: unshare is not installed", fix=FIX)
    said = ""
    for flags, how in (
        (["-n"], "a network namespace of its own"),
        (["-r", "-n"], "a user and a network namespace of its own"),
    ):
        done = subprocess.run(
            [unshare, *flags, "--", "true"],
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
        if done.returncode == 0:
            return Cut((unshare, *flags, "--"), how)
        said = done.stderr.strip()
    raise ToolError(f"the network can't be cut: {said}", fix=FIX)


@contextmanager
def listener() -> Iterator[int]:
    """Listen on the host's loopback and give the port: what has a network can reach it.

    Reached from here first, as the positive control: an unreachable listener would prove nothing.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        port = int(server.getsockname()[1])
        try:
            socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS).close()
        except OSError as error:
            raise ToolError(f"this machine can't reach its own loopback: {error}") from error
        yield port
