"""What tests of several folders share: the engine, and a real registry on loopback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import loopback
from harness.engine import Engine, find
from harness.system import apt_install

CONFIGURATION = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@pytest.fixture(scope="session")
def engine() -> Engine:
    return find()


@pytest.fixture(scope="session")
def registry_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the registry keeps its images."""
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="session")
def registry(registry_files: Path) -> Iterator[str]:
    """A registry on loopback, which engines reach without TLS: HOST:PORT."""
    if shutil.which("docker-registry") is None:
        apt_install("docker-registry")
    configuration = registry_files / "registry.yml"

    def command(port: int) -> list[str]:
        configuration.write_text(CONFIGURATION.format(folder=registry_files / "data", port=port))
        return ["docker-registry", "serve", str(configuration)]

    with loopback.serve(command, fix="apt-get install docker-registry") as port:
        yield f"{loopback.HOST}:{port}"
