"""A wheel that claims older Pythons than its stable ABI reaches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness.pins.findings import Finding, finding, place
from harness.pins.inheritance import manifest_of, workspace_of
from harness.pins.rules import Context
from harness.pins.tokens import Mention, Project

CODE = "abi3-floor"
SUMMARY = "requires-python admits Pythons below the abi3 floor"


_FEATURE = re.compile(r"abi3-py3(\d+)")


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every requires-python that reaches below abi3-py3X."""
    repository = context.repository
    for document, project in repository.facts(Project):
        manifest = manifest_of(repository, document, project)
        if manifest is None or project.requires_python is None:
            continue
        root = workspace_of(repository, manifest.document.path)
        for reading in {id(r): r for r in (manifest, root) if r is not None}.values():
            for fact in reading.facts:
                match = _FEATURE.fullmatch(fact.name) if isinstance(fact, Mention) else None
                if match is None or not isinstance(fact, Mention):
                    continue
                lower = _below(project.requires_python.text, int(match[1]))
                if lower is not None:
                    yield finding(
                        CODE,
                        "error",
                        document,
                        project.requires_python.span,
                        f"{fact.name} does not load on Python {lower}, which this line admits",
                        expected=f">=3.{match[1]}",
                        found=project.requires_python.text,
                        related=[place(reading.document, fact.at.span)],
                        fix=f'write requires-python = ">=3.{match[1]}"',
                    )


def _below(specifier: str, floor: int) -> str | None:
    """Return the newest Python below `floor` that a specifier admits."""
    try:
        parts = SpecifierSet(specifier)
    except InvalidSpecifier:
        return None
    minors = [minor for minor in range(6, floor) if parts.contains(f"3.{minor}.99")]
    return f"3.{minors[-1]}" if minors else None
