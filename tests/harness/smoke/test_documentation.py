"""docs/smoke.md names every check, operator and subject that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.paths import find_root
from harness.smoke import checks, gpu
from harness.smoke.operators import OPERATORS
from harness.smoke.subjects import ROOTS

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

PAGE = (find_root(Path(__file__).parent) / "docs" / "smoke.md").read_text("utf-8")
NAMES = ["audit", "install", "install-router-alone", "uninstall", "any-user"]
NAMES += [checks.name_of(check) for check in checks.ALL] + [name for name, *_ in gpu.CHECKS]


@pytest.mark.parametrize("name", NAMES)
def test_check_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", [*OPERATORS, *ROOTS])
def test_word_of_the_case_format_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE or f"`{name}." in PAGE or f"`{name} " in PAGE


def test_a_name_that_is_not_there_is_not_found() -> None:
    assert "`gpu-absent`" not in PAGE
