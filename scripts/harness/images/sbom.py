"""What an image is made of, as CycloneDX 1.5: Debian packages, wheels, crates.

No serial number and no time of the build: the same content gives the same bytes.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from harness.bases.choose import BaseImage
from harness.images import archive
from harness.source.export import Source

_REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")


def _component(kind: str, name: str, version: str, **more: Any) -> dict[str, Any]:
    purl = f"pkg:{kind}/{name}@{quote(version, safe='')}"
    return {
        "type": "library",
        "name": name.removeprefix("debian/"),
        "version": version,
        "purl": purl,
        "bom-ref": purl,
        **more,
    }


def _debian(packages: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for file, sha256 in packages.items():
        name, version, _ = unquote(file).removesuffix(".deb").split("_")
        hashes = [{"alg": "SHA-256", "content": sha256}]
        rows.append(_component("deb", f"debian/{name}", version, hashes=hashes))
    return rows


def _python(requirements: Path) -> list[dict[str, Any]]:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [
        _component("pypi", row["name"], row["version"])
        for row in map(_REQUIREMENT.match, lines)
        if row
    ]


def _crates(lock: Path) -> list[dict[str, Any]]:
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    return [
        _component(
            "cargo",
            row["name"],
            row["version"],
            hashes=[{"alg": "SHA-256", "content": row["checksum"]}],
        )
        for row in packages
        if "checksum" in row
    ]


def render(name: str, version: str, source: Source, base: BaseImage, context: Path) -> str:
    """Return the bill of materials of one image.

    Args:
        name: "cpu" or "gpu".
        version: Version of our wheels.
        source: What they were built from.
        base: The runtime base; a base from a registry is listed as one component.
        context: The build context, with its locks and its wheelhouse.
    """
    components = _debian(base.packages) or [
        {"type": "container", "name": base.reference, "bom-ref": base.image_id}
    ]
    components += _python(context / "wheelhouse" / "requirements.txt")
    components += _crates(context / "src" / "Cargo.lock")
    if name == "gpu":
        components += _python(context / "locks" / "gpu.txt")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": archive.timestamp(source.epoch),
            "component": {"type": "container", "name": f"replay-sim-{name}", "version": version},
            "properties": [{"name": "source:revision", "value": source.revision}],
        },
        "components": sorted(components, key=lambda row: str(row["bom-ref"])),
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"
