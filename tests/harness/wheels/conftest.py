"""What the wheel tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.wheels.audit import audit
from harness.wheels.findings import Finding
from tests.harness.wheels.wheel_factory import WheelSpec

Auditor = Callable[..., tuple[Finding, ...]]


@pytest.fixture
def findings(tmp_path: Path) -> Auditor:
    """Write wheels into one folder and return what the audit finds there."""

    def run(*specs: WheelSpec, first_party: tuple[str, ...] = ()) -> tuple[Finding, ...]:
        for spec in specs:
            spec.write(tmp_path)
        return audit(tmp_path, first_party).findings

    return run


def codes(found: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in found]
