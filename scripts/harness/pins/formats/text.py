"""The format for people: one finding a paragraph, what fixes it below."""

from __future__ import annotations

from harness.pins.check import Report
from harness.pins.findings import Finding


def render(report: Report) -> str:
    """Return the report as text."""
    lines = []
    for finding in report.findings:
        lines += _finding(finding)
    lines.append(summary(report))
    return "\n".join(lines) + "\n"


def _finding(finding: Finding) -> list[str]:
    place = f"{finding.file}:{finding.line}:{finding.column}"
    lines = [f"{place}: {finding.severity}[{finding.code}]: {finding.message}"]
    for related in finding.related:
        lines.append(f"    see {related.file}:{related.line}")
    if finding.fix and finding.severity != "note":
        lines.append(f"    fix: {finding.fix}")
    return lines


def summary(report: Report) -> str:
    """Return the last line: what was looked at and what was found."""
    counts = [_count(report.count(s), s) for s in ("error", "warning", "note") if report.count(s)]
    verdict = ", ".join(counts) or "clean"
    if report.clean and counts:
        verdict = f"clean ({verdict})"
    allowed = f", {report.allowed} allowed" if report.allowed else ""
    return (
        f"{verdict}{allowed}: {_count(report.claims, 'claim')} about {_count(report.pins, 'pin')} "
        f"in {report.read} of {_count(report.files, 'file')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
