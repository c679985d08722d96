"""`harness pins check`: run every rule, apply the policy, count."""

from __future__ import annotations

from dataclasses import dataclass

from harness.pins import rules
from harness.pins.config import Allow
from harness.pins.findings import Finding
from harness.pins.repository import Repository
from harness.pins.walk import glob


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one run, in order, and what was looked at."""

    findings: tuple[Finding, ...]
    files: int
    read: int
    claims: int
    pins: int
    allowed: int

    def count(self, severity: str) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def clean(self) -> bool:
        """Whether there is neither an error nor a warning."""
        return not self.count("error") and not self.count("warning")


def check(repository: Repository) -> Report:
    """Return what every rule finds, without what the policy allows."""
    context = rules.Context(repository)
    allowed = 0
    for rule in rules.modules():
        for finding in rule.check(context):
            allowance = _allowance(repository, finding)
            if allowance is None:
                context.findings.append(finding)
            else:
                context.used_allowances.add(allowance)
                allowed += 1
    unique = {(f.sort_key(), f.pin): f for f in reversed(context.findings)}
    return Report(
        findings=tuple(sorted(unique.values(), key=Finding.sort_key)),
        files=len(repository.paths),
        read=len(repository.readings),
        claims=sum(1 for _ in repository.claims()),
        pins=len(repository.pins.pins),
        allowed=allowed,
    )


def _allowance(repository: Repository, finding: Finding) -> Allow | None:
    for allow in repository.pins.policy.allow:
        if allow.code is not None and allow.code != finding.code:
            continue
        if allow.file is not None and not glob(allow.file).fullmatch(finding.file):
            continue
        if allow.name is not None and allow.name not in (finding.pin, finding.subject):
            continue
        return allow
    return None
