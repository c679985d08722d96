"""One version everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from harness.smoke.facts import Facts

TITLE = "metadata, modules, build information, --version and manifest give one version"
KINDS = ("host", "cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield every place that gives another version than the manifest."""
    for entry, package in facts.own():
        module = facts.probe["packages"][package]
        places = {
            f"metadata of {entry.name}": facts.installed.get(entry.name, {}).get("version"),
            f"{package}.__version__": module["version"],
            f"{package}/build-info.json": (module["build_info"] or {}).get("version"),
        }
        if entry.name == "replay-sim":
            places["replay-sim --version"] = _printed(facts, entry.version)
        for place, found in places.items():
            if not _same(found, entry.version):
                yield f"{place}: expected {entry.version}, found {found}"
    if len({entry.version for entry in facts.manifest.first_party()}) > 1:
        yield "our wheels have different versions"


def _printed(facts: Facts, expected: str) -> str:
    words = facts.version.stdout.decode("utf-8", "replace").replace(",", " ").split()
    found = [word for word in words if _same(word, expected)]
    return found[0] if found else " ".join(words)


def _same(found: str | None, expected: str) -> bool:
    try:
        return found is not None and Version(found) == Version(expected)
    except InvalidVersion:
        return False
