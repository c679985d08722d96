"""Servers on this machine's loopback, for as long as they are needed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from harness.errors import ToolError
from harness.process import tied

HOST = "127.0.0.1"
START_SECONDS = 30.0


@contextmanager
def serve(command: Callable[[int], Sequence[str]], *, fix: str) -> Iterator[int]:
    """Run the server that `command` gives for a port; yield the port once it answers there.

    Raises:
        ToolError: The program is missing, ends, or does not answer; `fix` says what helps.
    """
    with socket.create_server((HOST, 0)) as free:
        port = int(free.getsockname()[1])
    words = command(port)
    if shutil.which(words[0]) is None:
        raise ToolError(f"{words[0]} is not installed", fix=fix)
    process = subprocess.Popen(
        tied(words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(process, port, fix)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, fix: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise ToolError(f"no answer on {HOST}:{port}", fix=fix) from None
            time.sleep(0.05)
        else:
            return
    raise ToolError(f"the server for {HOST}:{port} ended with {process.returncode}", fix=fix)
