"""A version in pyproject.toml beside the one that Cargo.toml gives."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import versions
from harness.pins.findings import Finding, finding, place
from harness.pins.inheritance import crate_version
from harness.pins.rules import Context
from harness.pins.tokens import Project

CODE = "static-version"
SUMMARY = "a static version stands beside a dynamic one"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every static version that has a second source."""
    for document, project in context.repository.facts(Project):
        if project.version is None:
            continue
        if "version" in project.dynamic:
            yield finding(
                CODE,
                "error",
                document,
                project.version.span,
                f"{project.name}: version is static here and listed as dynamic",
                found=project.version.text,
                fix="keep one of the two",
            )
            continue
        crate = crate_version(context.repository, document, project)
        if crate is None:
            continue
        differs = not versions.equal(project.version.text, crate[1].text)
        yield finding(
            CODE,
            "error" if differs else "note",
            document,
            project.version.span,
            f"{project.name}: this version beats the one of {crate[0].path} ({crate[1].text})",
            expected=crate[1].text,
            found=project.version.text,
            related=[place(crate[0], crate[1].span)],
            fix='remove the line and write `dynamic = ["version"]`',
        )
