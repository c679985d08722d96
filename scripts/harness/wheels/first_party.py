"""Our own wheels: their names, and the build information that each carries."""

from __future__ import annotations

import json
from dataclasses import dataclass

from harness.wheels.wheel import Wheel

# Distribution name to import name.
PACKAGES = {"kv-router": "kv_router", "replay-sim": "replay_sim"}


@dataclass(frozen=True)
class BuildInfo:
    """What build-info.json says a wheel was built from."""

    revision: str
    tree: str
    dirty: bool
    version: str


def build_info_member(package: str) -> str:
    """Return the member that holds the build information of an import package."""
    return f"{package}/build-info.json"


def read_build_info(wheel: Wheel) -> BuildInfo:
    """Return a first-party wheel's build information; raises ValueError where it has none."""
    package = PACKAGES.get(wheel.name, wheel.name.replace("-", "_"))
    member = build_info_member(package)
    if member not in wheel.files:
        raise ValueError(f"{member} is not in the wheel")
    try:
        data = json.loads(wheel.read(member))
        return BuildInfo(data["revision"], data["tree"], data["dirty"], data["version"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{member} is not the build information: {error!r}") from error
