"""A compiled requirement file that no longer belongs to its input."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from harness.pins import versions
from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.text import Document, Span
from harness.pins.tokens import Reading, Requirement, RequirementFile

CODE = "lock-behind-input"
SUMMARY = "a compiled requirement file does not belong to its .in file"


FIX = "lock it again: harness pins lock"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding in the compiled file for every requirement added, removed or changed."""
    for document, fact in context.repository.facts(RequirementFile):
        inputs = inputs_of(context, document, fact)
        if inputs:
            yield from _compare(context, document, inputs)


def inputs_of(context: Context, document: Document, fact: RequirementFile) -> list[Reading]:
    """Return the files that a compiled file says it was made from (or its namesake)."""
    found = []
    folder = posixpath.dirname(document.path)
    for name in fact.compiled_from:
        for path in (posixpath.normpath(name), posixpath.normpath(posixpath.join(folder, name))):
            reading = context.repository.by_path.get(path)
            if reading is not None and path != document.path and reading not in found:
                found.append(reading)
                break
    return found


def wanted_by(context: Context, inputs: list[Reading]) -> list[tuple[Document, Requirement]]:
    """Return the requirements of the inputs and of what they include."""
    found: list[tuple[Document, Requirement]] = []
    queue, seen = list(inputs), set[str]()
    while queue:
        reading = queue.pop()
        if reading.document.path in seen:
            continue
        seen.add(reading.document.path)
        for fact in reading.facts:
            if isinstance(fact, Requirement):
                found.append((reading.document, fact))
            elif isinstance(fact, RequirementFile):
                for path, _ in fact.includes:
                    included = context.repository.by_path.get(path)
                    queue += [included] if included is not None else []
    return found


def _compare(context: Context, document: Document, inputs: list[Reading]) -> Iterator[Finding]:
    reading = context.repository.by_path[document.path]
    locked = {fact.name: fact for fact in reading.facts if isinstance(fact, Requirement)}
    wanted = wanted_by(context, inputs)
    for source, requirement in wanted:
        entry = locked.get(requirement.name)
        related = [place(source, requirement.at.span)]
        line = related[0].line
        if entry is None:
            if not requirement.marker:
                start = Span(document.bom, document.bom)
                message = f"{source.path}:{line} asks for {requirement.name}, which is not locked"
                yield finding(
                    CODE, "error", document, start, message, expected=requirement.name,
                    related=related, fix=FIX,
                )  # fmt: skip
            continue
        version = entry.specifier.lstrip("= ").strip()
        if versions.admits(requirement.specifier, version) is False:
            message = (
                f"{requirement.name} {version} is locked, "
                f"{source.path}:{line} asks for {requirement.specifier}"
            )
            yield finding(
                CODE, "error", document, entry.at.span, message, expected=requirement.specifier,
                found=version, related=related, fix=FIX,
            )  # fmt: skip
    yield from _left_over(document, reading, wanted)


def _left_over(
    document: Document, reading: Reading, wanted: list[tuple[Document, Requirement]]
) -> Iterator[Finding]:
    """A line that says it comes from an input, and the input no longer names it."""
    names = {(source.path, requirement.name) for source, requirement in wanted}
    for fact in reading.facts:
        if not isinstance(fact, Requirement):
            continue
        for origin in fact.via:
            path = posixpath.normpath(origin.removeprefix("-r").strip())
            if not origin.startswith("-r") or (path, fact.name) in names:
                continue
            message = f"{fact.name} is locked for {path}, which no longer names it"
            yield finding(CODE, "error", document, fact.at.span, message, found=fact.name, fix=FIX)
