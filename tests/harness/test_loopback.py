"""Servers on loopback: there once they answer, gone afterwards, and refused when they can't be."""

from __future__ import annotations

import socket
import sys

import pytest

from harness import loopback
from harness.errors import ToolError

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def test_it_answers_and_then_it_is_gone() -> None:
    def command(port: int) -> list[str]:
        return [sys.executable, "-m", "http.server", "--bind", loopback.HOST, str(port)]

    with loopback.serve(command, fix="none") as port:
        socket.create_connection((loopback.HOST, port), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((loopback.HOST, port), timeout=5)


def test_a_server_that_ends() -> None:
    def command(port: int) -> list[str]:
        return [sys.executable, "-c", "raise SystemExit(3)"]

    with (
        pytest.raises(ToolError, match="ended with 3") as caught,
        loopback.serve(command, fix="make it"),
    ):
        pass
    assert caught.value.fix == "make it"


def test_a_server_that_is_not_installed() -> None:
    with (
        pytest.raises(ToolError, match="no-such-server is not installed"),
        loopback.serve(lambda port: ["no-such-server"], fix="install it"),
    ):
        pass
