"""Every requirement of every installed distribution is met by an installed one."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.smoke.facts import Facts

TITLE = "every requirement is met"
KINDS = ("host", "cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield unmet requirements; an image has no pip that could say so."""
    for name, distribution in facts.installed.items():
        for text in distribution["requires"]:
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is not None and not marker.evaluate(facts.probe["markers"]):
                continue
            found = facts.installed.get(canonicalize_name(requirement.name))
            if found is None:
                yield f"{name} requires {text}, which is not installed"
            elif not requirement.specifier.contains(found["version"], prereleases=True):
                yield f"{name} requires {text}, and {found['version']} is installed"
