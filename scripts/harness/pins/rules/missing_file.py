"""A file that another one, or the policy, says must be there."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.rules.faults import faults_of
from harness.pins.tokens import FileReference
from harness.pins.walk import glob

CODE = "missing-file"
SUMMARY = "a file that something refers to does not exist"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every reference to a file that is not there."""
    yield from faults_of(context, CODE)
    repository = context.repository
    for document, fact in repository.facts(FileReference):
        if not repository.exists(fact.target):
            yield finding(
                CODE,
                "error",
                document,
                fact.at,
                f"{fact.what}: there is no {fact.target}",
                found=fact.target,
                fix="add the file, or correct the path",
            )
    pins = context.pins
    wanted = list(pins.policy.require)
    wanted += pins.source.paths if pins.source is not None else ()
    for item in wanted:
        pattern = glob(item.text.rstrip("/"))
        if not repository.exists(item.text) and not any(
            pattern.fullmatch(path) for path in repository.paths
        ):
            yield finding(
                CODE,
                "error",
                pins.document,
                item.span,
                f"declared here, and not in the repository: {item.text}",
                found=item.text,
                fix="add the file, or remove the entry",
            )
