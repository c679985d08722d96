"""Small traces and the command, as a user has them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
WriteTrace = Callable[..., Path]
COMMAND = Path(sys.executable).parent / "replay-sim"


@pytest.fixture(scope="session")
def sample(checkout: Path) -> Path:
    """The synthetic trace that the repository ships."""
    return checkout / "tests" / "data" / "sample.jsonl"


@pytest.fixture
def write_trace(tmp_path: Path) -> Callable[..., Path]:
    """Write rows (timestamp ms, input tokens, output tokens, hash ids) as a trace."""

    def write(*rows: tuple[float, int, int, Sequence[int]], name: str = "trace.jsonl") -> Path:
        names = ("timestamp", "input_length", "output_length", "hash_ids")
        path = tmp_path / name
        lines = (json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def replay_sim_command() -> Run:
    """Run `replay-sim` with these arguments."""

    def run(
        *arguments: object, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [str(COMMAND), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)

    return run
