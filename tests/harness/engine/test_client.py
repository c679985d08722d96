"""Choosing the client and reporting why: real programs on the PATH, real answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.engine import ensure, find
from harness.engine.client import NoServerError
from harness.errors import ToolError

pytestmark = [pytest.mark.pre_merge, pytest.mark.gpu_0]

SERVER = {"Version": "20.10.24", "ApiVersion": "1.41", "Platform": {"Name": ""}}


def client(folder: Path, version: str, *, server: object = SERVER, buildx: bool = False) -> Path:
    """Write a `docker` program that answers as a client of this version would."""
    folder.mkdir(parents=True, exist_ok=True)
    answer = json.dumps({"Client": {"Version": version}, "Server": server})
    program = folder / "docker"
    program.write_text(
        f"#!/bin/sh\ncase $1 in\nversion) echo '{answer}' ;;\n"
        f"buildx) exit {0 if buildx else 1} ;;\n*) exit 1 ;;\nesac\n"
    )
    program.chmod(0o755)
    return program


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the search see the given folders and nothing else."""

    def restrict(*folders: Path) -> None:
        monkeypatch.setattr("harness.engine.client.USUAL_PLACES", ())
        monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
        monkeypatch.delenv("DOCKER_HOST", raising=False)

    return restrict


@pytest.mark.integration
def test_the_real_engine_is_found_and_answers_the_sdk() -> None:
    engine = find()
    assert engine.client.is_file()
    assert engine.sdk.ping()
    assert str(engine.client) in engine.describe()


@pytest.mark.unit
def test_a_client_without_buildx_in_front_is_passed_over(
    tmp_path: Path, only: Callable[..., None]
) -> None:
    newer = client(tmp_path / "front", "28.2.2")
    older = client(tmp_path / "behind", "20.10.24")
    only(tmp_path / "front", tmp_path / "behind")
    engine = find()
    assert engine.client == older
    assert f"passed over {newer}" in engine.describe()
    assert "no buildx plugin" in engine.describe()


@pytest.mark.unit
def test_a_new_client_with_buildx_is_taken_first(tmp_path: Path, only: Callable[..., None]) -> None:
    newer = client(tmp_path / "front", "28.2.2", buildx=True)
    client(tmp_path / "behind", "20.10.24")
    only(tmp_path / "front", tmp_path / "behind")
    assert find().client == newer


@pytest.mark.unit
@pytest.mark.parametrize(
    ("version", "server", "says"),
    [
        ("28.2.2", SERVER, "no buildx plugin"),
        ("20.10.24", {**SERVER, "ApiVersion": "1.39"}, "older than 1.41"),
        ("4.3.1", {**SERVER, "Components": [{"Name": "Podman Engine"}]}, "podman"),
    ],
)
def test_a_server_that_nothing_can_build_on(
    tmp_path: Path, only: Callable[..., None], version: str, server: object, says: str
) -> None:
    client(tmp_path / "one", version, server=server)
    only(tmp_path / "one")
    with pytest.raises(ToolError, match=says) as caught:
        find()
    # A server answers, so none may be installed beside it.
    assert not isinstance(caught.value, NoServerError)
    assert caught.value.fix


@pytest.mark.unit
def test_a_user_whom_the_engine_refuses_is_told_how_to_get_in(
    tmp_path: Path, only: Callable[..., None]
) -> None:
    program = client(tmp_path / "one", "20.10.24", server=None)
    answer = program.read_text()
    program.write_text(f"{answer}echo 'permission denied while connecting' >&2\n")
    only(tmp_path / "one")
    with pytest.raises(ToolError, match="refuses this user") as caught:
        find()
    assert not isinstance(caught.value, NoServerError)
    assert "usermod" in str(caught.value.fix)


@pytest.mark.unit
def test_no_client_at_all(tmp_path: Path, only: Callable[..., None]) -> None:
    only(tmp_path)
    with pytest.raises(NoServerError, match="no `docker` program"):
        find()


@pytest.mark.unit
def test_no_server_and_starting_one_forbidden(
    tmp_path: Path, only: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    client(tmp_path / "one", "20.10.24", server=None)
    only(tmp_path / "one")
    monkeypatch.setenv("ENGINE", "external")
    with pytest.raises(ToolError, match="ENGINE=external"):
        ensure()


@pytest.mark.unit
def test_a_named_engine_is_never_replaced(
    tmp_path: Path, only: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    client(tmp_path / "one", "20.10.24", server=None)
    only(tmp_path / "one")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(NoServerError) as caught:
        ensure()
    assert caught.value.where == "tcp://127.0.0.1:1"
