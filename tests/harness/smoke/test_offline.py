"""Cutting the network: shown by what the probe finds with the cut, and without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ToolError
from harness.smoke.offline import Cut, find_cut, listener
from harness.smoke.prepare import SCRIPT_FOLDER

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]


def probe(cut: Cut, port: int, *flags: str) -> dict[str, Any]:
    """Run the real probe on two packages of the standard library."""
    command = [
        *cut.prefix,
        sys.executable,
        "-I",
        *flags,
        str(SCRIPT_FOLDER / "probe.py"),
        str(port),
    ]
    done = subprocess.run([*command, "json", "email"], capture_output=True, timeout=60, check=True)
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_cut_and_not_cut() -> None:
    with listener() as port:
        assert probe(find_cut(), port, "-S")["network"] == {"routes": [], "listener_reached": False}
        assert probe(Cut((), "not cut"), port, "-S")["network"]["listener_reached"]


def test_probe_of_a_known_environment() -> None:
    with listener() as port:
        facts = probe(Cut((), "not cut"), port)
    assert facts["prefix"] == str(Path(sys.prefix).resolve())
    assert facts["packages"]["json"]["error"] is None
    assert facts["imported"]["json.decoder"] == sys.modules["json.decoder"].__file__
    assert any("/libc." in path for path in facts["mapped"])
    pytest_files = next(d for d in facts["distributions"] if d["name"] == "pytest")["files"]
    assert pytest_files["pytest/__init__.py"]["sha256"] is not None


def test_probe_sees_what_is_tried_behind_the_block(tmp_path: Path) -> None:
    """An import that fails and is hidden still shows; one that is not tried does not."""
    sneaky = "try:\n    import wave\nexcept ImportError:\n    pass\n"
    for name, text in (("sneaky", sneaky), ("honest", "")):
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    script = (SCRIPT_FOLDER / "probe.py").read_text("utf-8")
    found = {}
    for name in ("sneaky", "honest"):
        program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        program += script.replace("from __future__ import annotations\n", "")
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program, "1", name, "wave"],
            capture_output=True,
            timeout=60,
            check=True,
        )
        found[name] = json.loads(done.stdout)["packages"][name]["blocked_attempts"]
    assert found == {"sneaky": ["wave"], "honest": []}


def test_no_way_to_cut_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="unshare is not installed"):
        find_cut()
    program = tmp_path / "unshare"
    program.write_text("#!/bin/sh\necho 'Operation not permitted' >&2; exit 1\n", "utf-8")
    program.chmod(0o755)
    with pytest.raises(ToolError, match="Operation not permitted") as caught:
        find_cut()
    assert caught.value.fix is not None
    assert "--image" in caught.value.fix
