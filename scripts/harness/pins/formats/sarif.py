"""SARIF 2.1.0, for code scanning services."""

from __future__ import annotations

import json
from urllib.parse import quote

from harness.pins import rules
from harness.pins.check import Report
from harness.pins.findings import Finding

VERSION = "2.1.0"


def render(report: Report) -> str:
    """Return the report as one SARIF run."""
    catalogue = [
        {
            "id": rule.CODE,
            "shortDescription": {"text": rule.SUMMARY},
            "help": {"text": f"docs/findings.md#{rule.CODE}"},
        }
        for rule in rules.modules()
    ]
    index = {str(rule["id"]): number for number, rule in enumerate(catalogue)}
    run = {
        "tool": {"driver": {"name": "harness pins", "rules": catalogue}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index) for finding in report.findings],
    }
    return json.dumps({"version": VERSION, "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _result(finding: Finding, index: dict[str, int]) -> dict[str, object]:
    text = finding.message + (f"\nFix: {finding.fix}" if finding.fix else "")
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": finding.severity,
        "message": {"text": text},
        "locations": [_location(finding.file, finding.line, finding.column)],
    }
    if finding.related:
        result["relatedLocations"] = [_location(r.file, r.line) for r in finding.related]
    return result


def _location(file: str, line: int, column: int | None = None) -> dict[str, object]:
    region = {"startLine": line}
    if column is not None:
        region["startColumn"] = column
    artifact = {"uri": quote(file, errors="surrogateescape"), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}
