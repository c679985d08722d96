"""Every code that the audit can report is explained in docs/wheels.md, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness.wheels
from harness.paths import find_root

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

PACKAGE = Path(str(harness.wheels.__file__)).parent
PAGE = find_root(Path(__file__).parent) / "docs" / "wheels.md"


def reported(path: Path) -> Iterator[str]:
    """The codes in calls of Finding(code, …) and of the modules' own _finding(wheel, code, …)."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            position = {"Finding": 0, "_finding": 1}.get(node.func.id)
            code = None if position is None else node.args[position]
            if isinstance(code, ast.Constant):
                yield str(code.value)


def test_codes_and_sections_are_the_same() -> None:
    codes = {code for path in PACKAGE.rglob("*.py") for code in reported(path)}
    headings = re.findall(r"^#### (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    sections = {code for heading in headings for code in re.findall(r"`([^`]+)`", heading)}
    assert len(codes) > 30
    assert codes == sections
