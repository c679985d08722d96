"""What the audit reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One fault of a wheelhouse.

    `code` has a section in docs/wheels.md; `file` is the wheel or the file of the house; `member`
    is the path inside the wheel, where there is one.
    """

    code: str
    file: str
    message: str
    member: str | None = None
    expected: str | None = None
    found: str | None = None
    fix: str | None = None
    severity: Severity = "error"
