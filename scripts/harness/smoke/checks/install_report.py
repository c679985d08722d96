"""pip installed exactly the wheels of the manifest, by their hashes, from the wheelhouse."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import canonicalize_name

from harness.smoke.facts import Facts

TITLE = "pip's install report equals the manifest"
KINDS = ("host",)


def problems(facts: Facts) -> Iterator[str]:
    """Yield every difference between pip's own report and the manifest."""
    assert facts.installation is not None
    report = facts.installation.report or {"install": []}
    reported: dict[str, tuple[str, str | None]] = {}
    for item in report["install"]:
        name = str(canonicalize_name(item["metadata"]["name"]))
        info = item["download_info"]
        digest = info.get("archive_info", {}).get("hashes", {}).get("sha256")
        reported[name] = (item["metadata"]["version"], digest)
        if not info["url"].startswith("file:"):
            yield f"{name} came from {info['url']}, not from the wheelhouse"
    expected: dict[str, tuple[str, str | None]] = {
        entry.name: (entry.version, entry.sha256) for entry in facts.manifest.wheels
    }
    for name in sorted({*expected, *reported}):
        if expected.get(name) != reported.get(name):
            yield (
                f"{name}: expected {expected.get(name, 'nothing')} (version, sha256), "
                f"pip installed {reported.get(name, 'nothing')}"
            )
