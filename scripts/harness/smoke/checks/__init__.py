"""The checks of a prepared lane, one idea a module.

Each module has a `TITLE`, the `KINDS` of lane that it judges, and `problems(facts)`, which yields
one line for each thing that is wrong. The module's name is the check's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from harness.smoke.checks import (
    distributions,
    entry_points,
    image_contents,
    image_privileges,
    imported_files,
    install_report,
    installed_bytes,
    loaded_extensions,
    network_off,
    pip_check,
    requirements,
    revisions,
    router_alone,
    versions,
)
from harness.smoke.facts import Facts
from harness.smoke.lanes.lane import Kind

ALL: tuple[ModuleType, ...] = (
    network_off,
    install_report,
    pip_check,
    distributions,
    requirements,
    installed_bytes,
    imported_files,
    loaded_extensions,
    router_alone,
    entry_points,
    versions,
    revisions,
    image_privileges,
    image_contents,
)


def name_of(check: ModuleType) -> str:
    """Return a check's name, as evidence and tables give it."""
    return check.__name__.rpartition(".")[2].replace("_", "-")


def for_kind(kind: Kind) -> tuple[ModuleType, ...]:
    """Return the checks that judge a kind of lane."""
    return tuple(check for check in ALL if kind in check.KINDS)


def judge(check: ModuleType, facts: Facts) -> list[str]:
    """Return what a check finds wrong."""
    found: Iterator[str] = check.problems(facts)
    return list(found)
