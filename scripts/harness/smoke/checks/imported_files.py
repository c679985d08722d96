"""What was imported is what was installed, not something else on the path."""

from __future__ import annotations

from collections.abc import Iterator

from harness.smoke.facts import Facts

TITLE = "every imported first-party file lies in the environment and is in its RECORD"
KINDS = ("host", "cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield failed imports, and modules from files that our distributions do not own."""
    for entry, package in facts.own():
        error = facts.probe["packages"][package]["error"]
        if error:
            yield f"{package} can't be imported: {error}"
            continue
        modules = {
            name: file
            for name, file in facts.probe["imported"].items()
            if name.partition(".")[0] == package
        }
        if f"{package}._core" not in modules:
            yield f"{package} did not load its extension {package}._core"
        owned = {
            f["path"] for f in facts.installed.get(entry.name, {"files": {}})["files"].values()
        }
        for name, file in modules.items():
            if file is None:
                yield f"{name} was imported from no file"
            elif not facts.inside(file):
                yield f"{name} was imported from {file}, outside {facts.probe['prefix']}"
            elif file not in owned:
                yield f"{name} was imported from {file}, which {entry.name} does not own"
