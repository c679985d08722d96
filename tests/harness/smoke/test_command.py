"""The command line: everything that is missing is named before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import InputError, ToolError
from harness.smoke.acceptance import Trace
from harness.smoke.lanes.host import find_interpreter
from harness.smoke.lanes.image import kind_of
from harness.smoke.plan import require_readable
from harness.wheels.manifest import MANIFEST
from tests.harness.smoke.facts_factory import write_house
from tests.harness.wheels.wheel_factory import WheelSpec

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a checkout with a built wheelhouse, and is the current one."""
    (tmp_path / "deps").mkdir()
    (tmp_path / "deps" / "pins.toml").touch()
    data = tmp_path / "tests" / "data"
    data.mkdir(parents=True)
    (data / "sample.jsonl").write_text('{"input_length": 1, "output_length": 1}\n', "utf-8")
    house = tmp_path / "build" / "wheelhouse"
    house.mkdir(parents=True)
    write_house(house)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], checkout: Path, *args: str) -> str:
    assert main(["smoke", "--host", *args]) == 2
    assert not (checkout / "build" / "evidence").exists(), "nothing was started"
    return capsys.readouterr().err


def test_no_wheelhouse(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, checkout, "--wheelhouse", "absent")
    assert "no such wheelhouse" in said
    assert "fix: make wheels" in said


def test_no_manifest(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "build" / "wheelhouse" / MANIFEST).unlink()
    assert "has no manifest" in refused(capsys, checkout)


def test_wheel_of_the_manifest_missing(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "build" / "wheelhouse" / WheelSpec().filename).unlink()
    assert "names a wheel that is not there" in refused(capsys, checkout)


def test_no_trace(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, checkout, "--trace", "absent.jsonl")
    assert "absent.jsonl: no such trace" in said


def test_malformed_trace(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "t.jsonl").write_text('{"input_length": 1, "output_length": 1}\n[', "utf-8")
    assert "t.jsonl:2: not a request" in refused(capsys, checkout, "--trace", "t.jsonl")


def test_trace_that_an_image_can_not_read(checkout: Path) -> None:
    path = checkout / "tests" / "data" / "sample.jsonl"
    traces = {"sample": Trace(path, {})}
    path.chmod(0o644)
    require_readable(traces)
    path.chmod(0o640)
    with pytest.raises(InputError, match="can't read this trace") as caught:
        require_readable(traces)
    assert caught.value.fix == f"chmod o+r {path}"


def test_no_such_case(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, checkout, "--case", "absent")
    assert "no case 'absent'" in said
    assert "bad-zero-workers" in said


def test_no_such_python(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no Python 3.99" in refused(capsys, checkout, "--python", "3.99")


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


def test_python_that_does_not_start(tmp_path: Path) -> None:
    broken = script(tmp_path / "python", "echo 'command not found' >&2; exit 127")
    with pytest.raises(ToolError, match="does not start: command not found"):
        find_interpreter(broken)


def test_python_that_is_too_old(tmp_path: Path) -> None:
    old = script(tmp_path / "python", "echo /usr/bin/python3 3.9")
    with pytest.raises(ToolError, match=r"Python 3\.9 is too old"):
        find_interpreter(old)
    new = script(tmp_path / "python", "echo /usr/bin/python3 3.11")
    assert find_interpreter(new).version == "3.11"


def test_python_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "python3.12", "echo /usr/bin/python3.12 3.12")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert find_interpreter("3.12").version == "3.12"
    with pytest.raises(InputError, match=r"no Python 3\.98"):
        find_interpreter("3.98")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("replay-sim:cpu", "cpu"),
        ("replay-sim:gpu", "gpu"),
        ("registry:5000/replay-sim:0.13.0-gpu", "gpu"),
        ("registry:5000/gpu", "cpu"),
        ("gpu/replay-sim:cpu", "cpu"),
    ],
)
def test_kind_of_image(name: str, kind: str) -> None:
    assert kind_of(name) == kind
