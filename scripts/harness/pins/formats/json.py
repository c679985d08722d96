"""The format for programs: the contract of docs/pins.md."""

from __future__ import annotations

import json

from harness.pins.check import Report
from harness.pins.findings import Finding


def render(report: Report) -> str:
    """Return the report as JSON."""
    document = {
        "findings": [_finding(finding) for finding in report.findings],
        "summary": {
            "errors": report.count("error"),
            "warnings": report.count("warning"),
            "notes": report.count("note"),
            "allowed": report.allowed,
            "files": report.files,
            "read": report.read,
            "claims": report.claims,
            "pins": report.pins,
            "clean": report.clean,
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "expected": finding.expected,
        "found": finding.found,
        "related": [{"file": r.file, "line": r.line} for r in finding.related],
        "fix": finding.fix,
    }
