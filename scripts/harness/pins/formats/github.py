"""Workflow commands that GitHub shows as annotations beside the changed lines."""

from __future__ import annotations

from harness.pins.check import Report
from harness.pins.findings import Finding
from harness.pins.formats.text import summary

_LEVEL = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """Return one command a finding, and the summary as plain text."""
    lines = [_command(finding) for finding in report.findings]
    return "\n".join([*lines, summary(report)]) + "\n"


def _command(finding: Finding) -> str:
    fields = {
        "file": finding.file,
        "line": str(finding.line),
        "col": str(finding.column),
        "title": finding.code,
    }
    properties = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    fix = f"\nfix: {finding.fix}" if finding.fix else ""
    return f"::{_LEVEL[finding.severity]} {properties}::{_data(finding.message + fix)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
