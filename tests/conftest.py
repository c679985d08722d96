"""Every test says where it runs: its lane, its kind and its hardware."""

from __future__ import annotations

from pathlib import Path

import pytest

REQUIRED = {
    "lane": ("pre_merge", "nightly"),
    "kind": ("unit", "integration", "e2e"),
    "hardware": ("gpu_0", "gpu_1"),
}
ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests that no lane would select, or that two would."""
    problems = []
    for item in items:
        names = {mark.name for mark in item.iter_markers()}
        problems += [
            f"{item.nodeid}: needs one {what} marker of {', '.join(choices)}"
            for what, choices in REQUIRED.items()
            if len(names.intersection(choices)) != 1
        ]
    if problems:
        raise pytest.UsageError("\n".join(problems))


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of this checkout."""
    return ROOT
