"""The audit of a wheelhouse: every check over every wheel, then over the house."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from harness.errors import InputError
from harness.wheels import checks
from harness.wheels.findings import Finding
from harness.wheels.house import House, wheel_paths
from harness.wheels.manifest import load
from harness.wheels.wheel import UnreadableWheelError, Wheel


@dataclass(frozen=True)
class Report:
    """What an audit found: `wheels` counts the files looked at."""

    folder: Path
    wheels: int
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        """How many findings stop a release."""
        return sum(finding.severity == "error" for finding in self.findings)


def audit(folder: Path, first_party: Collection[str] = ()) -> Report:
    """Audit a folder of wheels.

    The rules for our own wheels apply to those that the folder's manifest marks as first party
    and to the distributions named in `first_party`. Raises InputError where the folder holds no
    wheel, or none of a distribution that `first_party` names.
    """
    findings: list[Finding] = []
    sound: list[Wheel] = []
    paths = wheel_paths(folder)
    for path in paths:
        try:
            wheel = Wheel(path)
        except UnreadableWheelError as error:
            findings.append(
                Finding("wheel-unreadable", path.name, str(error), fix="build it again")
            )
            continue
        gate = [finding for check in checks.GATES for finding in check(wheel)]
        findings.extend(gate)
        if not gate:
            sound.append(wheel)
    own = _first_party(folder, first_party)
    _require_present(folder, first_party, paths)
    for wheel in sound:
        findings.extend(finding for check in checks.WHEEL_CHECKS for finding in check(wheel))
        if wheel.name in own:
            extra = checks.FIRST_PARTY_CHECKS
            findings.extend(finding for check in extra for finding in check(wheel))
    house = House(folder, tuple(sound))
    findings.extend(finding for check in checks.HOUSE_CHECKS for finding in check(house))
    findings.sort(key=lambda f: (f.file, f.code, f.member or "", f.message, f.found or ""))
    return Report(folder, len(paths), tuple(findings))


def _first_party(folder: Path, named: Collection[str]) -> set[str]:
    own: set[str] = {canonicalize_name(name) for name in named}
    # A house without a manifest is fine; a malformed one is reported by the manifest check.
    with contextlib.suppress(InputError):
        own.update(entry.name for entry in load(folder).first_party())
    return own


def _require_present(folder: Path, named: Collection[str], paths: list[Path]) -> None:
    for name in named:
        stem = canonicalize_name(name)
        if not any(canonicalize_name(path.name.split("-")[0]) == stem for path in paths):
            raise InputError(
                f"no wheel of {name}, which --first-party names",
                where=str(folder),
                fix="correct the name, or add the wheel",
            )
