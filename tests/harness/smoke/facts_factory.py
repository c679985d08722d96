"""Makes the facts of a sound lane, from sound wheels; a test breaks one of them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from packaging.markers import default_environment

from harness.smoke.facts import Facts
from harness.smoke.image_facts import REVISION_LABEL, ImageFacts, ImageFile
from harness.smoke.install import Installation, folder_of_wheels
from harness.smoke.lanes.lane import Kind
from harness.smoke.outcome import Outcome
from harness.wheels import manifest
from harness.wheels.first_party import PACKAGES
from harness.wheels.house import open_wheels
from harness.wheels.wheel import Wheel
from tests.harness.wheels.elf_factory import extension
from tests.harness.wheels.wheel_factory import REVISION, TREE, WheelSpec, first_party

PREFIX = "/env"
SITE = f"{PREFIX}/lib/python3.11/site-packages"
VERSION = "0.13.0"


def write_house(folder: Path) -> None:
    """Write both our wheels, the second with a command, and a third-party one they need."""
    first_party("kv-router", extension=extension()).write(folder)
    simulator = first_party("replay-sim", extension=extension(), requires=("simw>=0.13",))
    simulator.members["replay_sim/cli.py"] = b""
    simulator.info["entry_points.txt"] = b"[console_scripts]\nreplay-sim = replay_sim.cli:main\n"
    simulator.write(folder)
    WheelSpec().write(folder)
    manifest.write(folder, revision=REVISION, tree=TREE, dirty=False, builder={})


def sound_facts(folder: Path, kind: Kind) -> Facts:
    """Return the facts of a lane of this kind in which nothing is wrong."""
    write_house(folder)
    loaded = manifest.load(folder)
    wheels = {wheel.name: wheel for wheel in open_wheels(folder)}
    return Facts(
        kind=kind,
        manifest=loaded,
        wheels=wheels,
        probe=probe(wheels, kind),
        version=outcome(f"replay-sim {VERSION} ({REVISION})\n", "--version"),
        usage=outcome("usage: replay-sim\n", "--help"),
        installation=installation(folder, loaded) if kind == "host" else None,
        image=image() if kind != "host" else None,
    )


def outcome(stdout: str, *command: str, exit_code: int = 0) -> Outcome:
    return Outcome(("replay-sim", *command), exit_code, stdout.encode(), b"", 0.1)


def installation(folder: Path, loaded: manifest.Manifest) -> Installation:
    report = {
        "install": [
            {
                "metadata": {"name": entry.name, "version": entry.version},
                "download_info": {
                    "url": (folder / entry.filename).as_uri(),
                    "archive_info": {"hashes": {"sha256": entry.sha256}},
                },
            }
            for entry in loaded.wheels
        ]
    }
    clean = outcome("No broken requirements found.\n")
    return Installation(outcome(""), folder_of_wheels(folder), report, clean)


def image() -> ImageFacts:
    return ImageFacts(
        name="replay-sim:cpu",
        id="sha256:0",
        size=1,
        user="10001:10001",
        labels={REVISION_LABEL: REVISION},
        entrypoint=("/opt/replay/bin/replay-sim",),
        files=(ImageFile("opt/replay/bin/replay-sim", 0o755, 9),),
    )


def distribution(wheel: Wheel) -> dict[str, Any]:
    files = {
        name: {"path": f"{SITE}/{name}", "sha256": hashlib.sha256(wheel.read(name)).hexdigest()}
        for name in wheel.files
    }
    return {
        "name": wheel.name,
        "version": str(wheel.version),
        "location": SITE,
        "requires": wheel.metadata.get_all("Requires-Dist") or [],
        "scripts": dict.fromkeys(wheel.console_scripts, True),
        "files": files,
    }


def probe(wheels: dict[str, Wheel], kind: Kind) -> dict[str, Any]:
    core = {package: f"{SITE}/{package}/_core.abi3.so" for package in PACKAGES.values()}
    digest = hashlib.sha256(extension()).hexdigest()
    packages: dict[str, dict[str, Any]] = {
        package: {
            "error": None,
            "blocked_attempts": [],
            "version": VERSION,
            "revision": REVISION,
            "build_info": {"revision": REVISION, "tree": TREE, "version": VERSION},
        }
        for package in PACKAGES.values()
    }
    imported = {package: f"{SITE}/{package}/__init__.py" for package in PACKAGES.values()}
    imported |= {f"{package}._core": path for package, path in core.items()}
    distributions = [distribution(wheel) for wheel in wheels.values()]
    if kind == "gpu":
        distributions += [
            {"name": name, "version": "13.0", "requires": [], "scripts": {}, "files": {}}
            for name in ("nvidia-cuda-runtime", "nvidia-ml-py")
        ]
    return {
        "prefix": PREFIX,
        "markers": {**default_environment(), "extra": ""},
        "packages": packages,
        "imported": imported,
        "mapped": dict.fromkeys(core.values(), digest),
        "distributions": distributions,
        "network": {"routes": [], "listener_reached": False},
        "process": {"uid": 10001, "gid": 10001, "capabilities": 0, "no_new_privileges": True},
        "writable": [],
    }
