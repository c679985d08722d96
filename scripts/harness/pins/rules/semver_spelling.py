"""A Cargo version that has no PEP 440 spelling, or one that sorts elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import versions
from harness.pins.findings import Finding, finding
from harness.pins.inheritance import crate_version, package_of, version_of
from harness.pins.rules import Context
from harness.pins.text import Document, Located
from harness.pins.tokens import Project, crate_id

CODE = "semver-spelling"
SUMMARY = "a SemVer version becomes another one as a Python version"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every version of a crate that becomes a wheel and changes its meaning."""
    repository = context.repository
    found: dict[tuple[str, int], tuple[Document, Located]] = {}
    for document, project in repository.facts(Project):
        crate = crate_version(repository, document, project)
        if crate is not None:
            found[crate[0].path, crate[1].span.start] = crate
    both = {crate_id(name) for pin in context.pins.pins if pin.distributions for name in pin.crates}
    for reading in repository.readings:
        package = package_of(reading)
        if package is not None and package.name in both:
            version = version_of(repository, reading)
            if version is not None:
                document = version[0].document
                found[document.path, version[1].span.start] = (document, version[1])
    for document, at in found.values():
        if versions.pep440_of_semver(at.text) is not None:
            continue
        python = versions.parse(at.text)
        said = f"becomes {python}, a post-release" if python else "can't be expressed in PEP 440"
        yield finding(
            CODE,
            "error",
            document,
            at.span,
            f"{at.text} is a SemVer pre-release and {said}",
            found=at.text,
            fix="use -alpha.N, -beta.N, -rc.N or -dev.N",
        )
