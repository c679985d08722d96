"""Every test file is collected and selected by a lane: none is written and never run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REQUIRED

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]

ROOT = Path(__file__).resolve().parents[2]
COLLECT = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]


def selected(lanes: str, *paths: str) -> set[str]:
    """Return the test files of which pytest selects at least one test in these lanes."""
    done = subprocess.run(
        [*COLLECT, "-m", lanes, *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}


def unselected(files: set[str], chosen: set[str]) -> list[str]:
    return sorted(files - chosen)


def test_every_test_file_is_in_a_lane() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "tests/**/test_*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    files = {path for path in listing.splitlines() if (ROOT / path).is_file()}
    assert "tests/harness/test_lanes.py" in files
    assert unselected(files, selected(" or ".join(REQUIRED["lane"]))) == []


def test_a_file_outside_the_selection_is_named() -> None:
    """The same selection, of one file's unit tests only: the other file is missed and named."""
    files = {"tests/harness/test_documents.py", "tests/harness/test_lanes.py"}
    assert unselected(files, selected("unit", *sorted(files))) == ["tests/harness/test_lanes.py"]
