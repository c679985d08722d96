"""One argument with a default in two places of a Dockerfile."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.tokens import ArgDefault

CODE = "second-default"
SUMMARY = "an ARG has a default in two places"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding at every later default; an equal one is only noted."""
    first: dict[tuple[str, str], ArgDefault] = {}
    for document, fact in context.repository.facts(ArgDefault):
        known = first.setdefault((document.path, fact.name), fact)
        if known is fact:
            continue
        differs = known.at.text != fact.at.text
        said = f"and {known.at.text!r} above" if differs else "the same as above"
        yield finding(
            CODE,
            "error" if differs else "note",
            document,
            fact.at.span,
            f"a second default of {fact.name}: {fact.at.text!r} here, {said}",
            expected=known.at.text,
            found=fact.at.text,
            related=[place(document, known.at.span)],
            fix=f"write `ARG {fact.name}` here: it takes the default of the first",
        )
