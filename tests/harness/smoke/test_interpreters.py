"""The Pythons of the host lane: all that start, one a version, from 3.11 on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.errors import InputError, ToolError
from harness.smoke.lanes.host import find_interpreter, find_interpreters

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

OWN = "{}.{}".format(*sys.version_info)


def fake(folder: Path, name: str, says: str) -> None:
    """Put a program there that answers as a Python of some version does, or fails."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{says}\n", "utf-8")
    program.chmod(0o755)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    first, second = tmp_path / "first", tmp_path / "second"
    fake(first, "python3.97", f"echo {first}/python3.97 3.97")
    fake(first, "python3.98", "exit 1")
    fake(first, "python3.97-config", "echo x 3.96")
    fake(first, "python3.9", "echo old 3.9")
    fake(second, "python3.97", f"echo {second}/python3.97 3.97")
    fake(second, "python3.99", f"echo {second}/python3.99 3.99")
    monkeypatch.setenv("PATH", f"{first}:{second}")
    return tmp_path


def test_all_that_start(places: Path) -> None:
    found = {interpreter.version: interpreter.path for interpreter in find_interpreters()}
    assert list(found) == [OWN, "3.97", "3.99"]
    assert found["3.97"] == places / "first" / "python3.97"
    assert found[OWN] == Path(sys.executable)


def test_a_named_one_has_to_start(places: Path) -> None:
    assert find_interpreter("3.99").version == "3.99"
    with pytest.raises(ToolError, match="does not start"):
        find_interpreter("3.98")
    with pytest.raises(ToolError, match=r"3\.9 is too old"):
        find_interpreter("3.9")
    with pytest.raises(InputError, match=r"no Python 3\.95"):
        find_interpreter("3.95")
