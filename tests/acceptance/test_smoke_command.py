"""`harness smoke` as a user runs it: exit code, evidence, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.smoke.prepare import WheelhouseUnderTest
from tests.acceptance.conftest import ROOT
from tests.acceptance.rewrite import copy_house

pytestmark = [pytest.mark.pre_merge, pytest.mark.e2e, pytest.mark.gpu_0]

CASE = "never-fits"


def command(*args: str) -> list[str]:
    return [str(Path(sys.executable).with_name("harness")), "smoke", "--host", *args]


def smoke(*args: str) -> tuple[int, dict[str, Any], str]:
    """Run the command; return its exit code, its JSON and what it told people."""
    done = subprocess.run(
        command("--format", "json", *args), cwd=ROOT, capture_output=True, timeout=110, check=False
    )
    return done.returncode, json.loads(done.stdout), done.stderr.decode()


def verdicts(summary: dict[str, Any]) -> dict[str, str]:
    return {result["case"]: result["verdict"] for result in summary["results"]}


def test_green(house: WheelhouseUnderTest, tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    code, summary, said = smoke("--case", CASE, "--evidence", str(evidence))
    assert code == 0, said
    assert set(verdicts(summary).values()) == {"passed"}
    assert CASE in verdicts(summary)
    assert summary == json.loads((evidence / "summary.json").read_text("utf-8"))
    (file,) = evidence.glob(f"host-*/{CASE}.json")
    assert json.loads(file.read_text("utf-8"))["source"]["revision"] == house.manifest.revision
    assert len(list(evidence.glob("*/*.json"))) == len(summary["results"])
    assert ElementTree.parse(evidence / "junit.xml").find("testsuite/testcase") is not None


def test_red(house: WheelhouseUnderTest, tmp_path: Path) -> None:
    folder = copy_house(house.folder, tmp_path / "house")
    (wheel,) = folder.glob("mdurl-*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    evidence = tmp_path / "evidence"
    code, summary, said = smoke(
        "--wheelhouse", str(folder), "--case", CASE, "--evidence", str(evidence)
    )
    assert code == 1
    assert verdicts(summary) == {"audit": "failed", "install": "failed", CASE: "not-run"}
    assert f"repeat: .venv/bin/harness wheels audit {folder}" in said
    junit = ElementTree.parse(evidence / "junit.xml")
    assert junit.find("testsuite/testcase[@name='install']/failure") is not None
    assert junit.find(f"testsuite/testcase[@name='{CASE}']/skipped") is not None


def test_interrupted(house: WheelhouseUnderTest, tmp_path: Path) -> None:
    evidence, scratch = tmp_path / "evidence", tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        command("--evidence", str(evidence), "--wheelhouse", str(house.folder)),
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 60
        # From its first evidence on, it is at work in the lanes.
        while not list(evidence.glob("wheelhouse/*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"interrupted" in said
    assert list(scratch.iterdir()) == []
    assert not (evidence / "summary.json").exists(), "an interrupted run has no summary"
