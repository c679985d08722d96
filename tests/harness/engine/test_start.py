"""A machine on which no engine runs: one is started, for real, in namespaces of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.integration,
    pytest.mark.gpu_0,
    pytest.mark.timeout(150),
]

# Another mount, network and process namespace: the host's engine is out of sight, and everything
# that was started ends with the shell.
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
SCRIPT = """\
set -e
for folder in /run /var/lib/docker /var/log; do mount -t tmpfs none $folder; done
ip link set lo up 2>/dev/null || true
exec "$@"
"""


def isolated(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if k not in ("DOCKER_HOST", "ENGINE")}
    return subprocess.run(
        [*NAMESPACES, "sh", "-c", SCRIPT, "sh", *command],
        env={**variables, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(autouse=True)
def root_only() -> None:
    if os.geteuid() != 0:
        pytest.fail("starting an engine needs root: run the tests as root")


HARNESS = str(Path(sys.executable).with_name("harness"))


def test_an_engine_that_does_not_run_is_started() -> None:
    done = isolated(HARNESS, "engine", "--start")
    assert done.returncode == 0, done.stderr
    assert "BuildKit" in done.stdout
    assert "installing and starting one" in done.stderr


def test_an_engine_that_ends_at_once_is_reported_with_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "dockerd"
    broken.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    broken.chmod(0o755)
    done = isolated(HARNESS, "engine", "--start", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 3
    assert "ended at once" in done.stderr
    assert "dockerd.log" in done.stderr


def test_without_permission_none_is_started() -> None:
    done = isolated(HARNESS, "engine", "--start", ENGINE="external")
    assert done.returncode == 3
    assert "ENGINE=external" in done.stderr
    # Positive control: without the option the command only looks.
    assert isolated(HARNESS, "engine").returncode == 3
