"""The audit's result, for people and for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from harness.wheels.audit import Report

STYLES = {"error": "bold red", "warning": "bold yellow"}


def as_json(report: Report) -> str:
    """Return the report as JSON: `findings`, each as in findings.py, and `summary`."""
    data = {
        "findings": [asdict(finding) for finding in report.findings],
        "summary": {
            "wheels": report.wheels,
            "errors": report.errors,
            "warnings": len(report.findings) - report.errors,
        },
    }
    return json.dumps(data, indent=2)


def print_text(report: Report, console: Console) -> None:
    """Print each finding as a short paragraph, and one closing line."""
    for finding in report.findings:
        place = f"{finding.file}: {finding.member}" if finding.member else finding.file
        line = Text.assemble(
            (f"{finding.severity}[{finding.code}]", STYLES[finding.severity]), f" {place}"
        )
        console.print(line)
        console.print(f"  {finding.message}", markup=False)
        for label in ("expected", "found", "fix"):
            value = getattr(finding, label)
            if value:
                console.print(f"  {label}: {value}", markup=False)
    warnings = len(report.findings) - report.errors
    console.print(
        f"{report.wheels} wheels audited: {report.errors} errors, {warnings} warnings",
        markup=False,
    )
