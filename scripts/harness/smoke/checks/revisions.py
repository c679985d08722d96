"""One source revision everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.smoke.facts import Facts
from harness.smoke.image_facts import REVISION_LABEL

TITLE = "modules, build information, --version, label and manifest give one source revision"
KINDS = ("host", "cpu", "gpu")
FULL_ID = re.compile(r"\b[0-9a-f]{40}\b(?:\+dirty)?")


def problems(facts: Facts) -> Iterator[str]:
    """Yield every place that gives another revision than the manifest."""
    expected = facts.manifest.revision
    places: dict[str, object] = {}
    for _, package in facts.own():
        module = facts.probe["packages"][package]
        places[f"{package}.__revision__"] = module["revision"]
        info = module["build_info"] or {}
        places[f"{package}/build-info.json"] = info.get("revision")
        if info.get("tree") != facts.manifest.tree:
            yield (
                f"{package}/build-info.json: expected tree {facts.manifest.tree}, "
                f"found {info.get('tree')}"
            )
    said = facts.version.stdout.decode("utf-8", "replace")
    places["replay-sim --version"] = " ".join(FULL_ID.findall(said)) or said.strip()
    if facts.image is not None:
        places[f"label {REVISION_LABEL}"] = facts.image.labels.get(REVISION_LABEL)
    for place, found in places.items():
        if found != expected:
            yield f"{place}: expected {expected}, found {found}"
