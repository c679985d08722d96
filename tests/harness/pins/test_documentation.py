"""docs/pins.md: its example is a pins file, its commands exist, the hook runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.cli import build_parser
from harness.pins import config
from harness.pins.text import Document
from tests.conftest import ROOT
from tests.harness.pins.trees import write

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

PAGE = (ROOT / "docs" / "pins.md").read_text("utf-8")


def test_the_example_is_a_pins_file() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    pins = [config.parse(Document("example", block.encode())) for block in blocks]
    assert [pin.name for pin in pins[0].pins] == ["simulator", "python", "checkout-action"]
    keys = set(re.findall(r"^([a-z-]+) = ", blocks[0], re.MULTILINE))
    assert keys >= {*config.PIN_LISTS, "version", "revision", "repository", "toolchain"}
    assert keys >= set(config.POLICY_KEYS) - {"allow"}


def test_every_command_of_the_page_exists() -> None:
    commands = set(re.findall(r"harness pins ([a-z]+)", PAGE))
    assert commands == {
        "check", "sync", "bump", "explain", "stamp", "unstamp", "discover", "lock"
    }  # fmt: skip
    for line in re.findall(r"`harness (pins [^`]*)`", PAGE):
        build_parser().parse_args(shlex.split(line))


def test_the_hook_runs_what_it_says(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, *words = hook["entry"].split()
    assert program == "harness"
    assert hook["id"] in PAGE
    for text, code in (("sim==0.13.0\n", 0), ("sim==0.12.0\n", 1)):
        root = write(tmp_path, {"requirements.txt": text})
        start = "import sys; from harness.cli import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", start, *words], cwd=root, timeout=60, check=False
        )
        assert done.returncode == code
