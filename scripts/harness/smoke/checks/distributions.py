"""What is installed is what the wheelhouse holds, no more and no less."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from harness.smoke.facts import Facts

TITLE = "the installed distributions are those of the manifest"
KINDS = ("host", "cpu", "gpu")
# The GPU image carries these on top (deps/gpu.in).
GPU_EXTRA = {"nvidia-cuda-runtime", "nvidia-ml-py"}


def problems(facts: Facts) -> Iterator[str]:
    """Yield distributions that are missing, surplus or of another version."""
    allowed = {entry.name for entry in facts.manifest.wheels}
    if facts.kind == "gpu":
        allowed |= GPU_EXTRA
    for name in sorted(facts.installed.keys() - allowed):
        yield f"{name} {facts.installed[name]['version']} is installed and not in the manifest"
    for name in sorted(allowed - facts.installed.keys()):
        yield f"{name} is not installed"
    for entry in facts.manifest.wheels:
        found = facts.installed.get(entry.name)
        if found and Version(found["version"]) != Version(entry.version):
            yield f"{entry.name}: expected {entry.version}, found {found['version']}"
