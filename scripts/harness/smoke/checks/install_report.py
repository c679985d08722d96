"""pip installed exactly the wheels of the manifest, by their hashes, from where it was told to."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import canonicalize_name

from harness.smoke.facts import Facts
from harness.smoke.install import Installation
from harness.wheels.manifest import Manifest

TITLE = "pip's install report equals the manifest"
KINDS = ("host",)


def problems(facts: Facts) -> Iterator[str]:
    """Yield every difference between pip's own report and the manifest."""
    assert facts.installation is not None
    yield from differences(facts.installation, facts.manifest)


def differences(installation: Installation, manifest: Manifest) -> Iterator[str]:
    """Yield wheels that are missing, surplus, of other bytes or from elsewhere."""
    report = installation.report or {"install": []}
    reported: dict[str, tuple[str, str | None]] = {}
    for item in report["install"]:
        name = str(canonicalize_name(item["metadata"]["name"]))
        info = item["download_info"]
        digest = info.get("archive_info", {}).get("hashes", {}).get("sha256")
        reported[name] = (item["metadata"]["version"], digest)
        if not info["url"].startswith(installation.origin.url):
            yield f"{name} came from {info['url']}, not from {installation.origin.url}"
    expected: dict[str, tuple[str, str | None]] = {
        entry.name: (entry.version, entry.sha256) for entry in manifest.wheels
    }
    for name in sorted({*expected, *reported}):
        if expected.get(name) != reported.get(name):
            yield (
                f"{name}: expected {expected.get(name, 'nothing')} (version, sha256), "
                f"pip took {reported.get(name, 'nothing')}"
            )
