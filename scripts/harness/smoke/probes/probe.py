"""Collects facts about the environment that it runs in, and judges none of them.

Runs inside the environment under test (`python -I probe.py HOST_PORT PACKAGE…`) with the standard
library only, and prints one JSON object. The checks in `harness.smoke.checks` judge it outside,
where the code under test has no say.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.abc
import importlib.metadata
import json
import os
import platform
import socket
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

WATCHED = ("/", "/usr", "/etc", "/opt", "/var")


class Block(importlib.abc.MetaPathFinder):
    """Refuses to import some packages, and remembers that somebody tried."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages
        self.attempts: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse a blocked package; leave all others to the next finder."""
        if fullname.partition(".")[0] in self.packages:
            self.attempts.append(fullname)
            raise ImportError(f"{fullname} is blocked")
        return None


def sha256(path: Path) -> str | None:
    """Return a file's SHA-256 in hex; None where it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def import_packages(packages: Sequence[str]) -> dict[str, Any]:
    """Import each package, the first one with all others blocked; return what they say."""
    result = {}
    for number, name in enumerate(packages):
        block = Block(packages[1:] if number == 0 else ())
        sys.meta_path.insert(0, block)
        try:
            module = importlib.import_module(name)
            error = None
        except Exception as caught:
            module, error = None, f"{type(caught).__name__}: {caught}"
        finally:
            sys.meta_path.remove(block)
        result[name] = {
            "error": error,
            "blocked_attempts": block.attempts,
            "version": getattr(module, "__version__", None),
            "revision": getattr(module, "__revision__", None),
            "build_info": build_info(module),
        }
    return result


def build_info(module: ModuleType | None) -> Any:
    """Return the package's build-info.json; None where there is none."""
    try:
        folder = Path(str(getattr(module, "__file__", ""))).parent
        return json.loads((folder / "build-info.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None


def imported_files(packages: Sequence[str]) -> dict[str, str | None]:
    """Return every imported module of the packages and the file that it came from."""
    files = {
        name: getattr(module, "__file__", None)
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] in packages
    }
    return {name: str(Path(file).resolve()) if file else None for name, file in files.items()}


def mapped_libraries() -> dict[str, str | None]:
    """Return every shared object in this process's memory, with its hash on disk."""
    rows = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    paths = {row[5] for row in rows if len(row) == 6}
    objects = sorted(path for path in paths if path.startswith("/") and ".so" in path)
    return {path: sha256(Path(path)) for path in objects}


def distributions() -> list[dict[str, Any]]:
    """Return every installed distribution, its requirements and the hashes of its files."""
    found = []
    for distribution in importlib.metadata.distributions():
        files = {}
        for file in distribution.files or []:
            path = Path(str(distribution.locate_file(file))).resolve()
            files[str(file)] = {"path": str(path), "sha256": sha256(path)}
        found.append(
            {
                "name": distribution.metadata["Name"],
                "version": distribution.version,
                "location": str(Path(str(distribution.locate_file(""))).resolve()),
                "requires": distribution.requires or [],
                "scripts": {
                    entry.name: Path(sys.prefix, "bin", entry.name).is_file()
                    for entry in distribution.entry_points
                    if entry.group == "console_scripts"
                },
                "files": files,
            }
        )
    return sorted(found, key=lambda item: str(item["name"]))


def marker_environment() -> dict[str, str]:
    """Return the variables of PEP 508 markers for this interpreter."""
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
        "extra": "",
    }


def network(port: int) -> dict[str, Any]:
    """Return which routes lead out, and whether a listener on the host can be reached."""
    devices = set()
    for table, column in (("/proc/net/route", 0), ("/proc/net/ipv6_route", -1)):
        try:
            rows = [line.split() for line in Path(table).read_text().splitlines()]
        except OSError:
            continue
        devices |= {row[column] for row in rows if row[column] not in ("Iface", "lo")}
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            reached = True
    except OSError:
        reached = False
    return {"routes": sorted(devices), "listener_reached": reached}


def process() -> dict[str, Any]:
    """Return who this process is and what the kernel lets it do."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return {
        "uid": os.getuid(),
        "gid": os.getgid(),
        "capabilities": int(status.get("CapEff", "0"), 16),
        "no_new_privileges": status.get("NoNewPrivs") == "1",
    }


def writable_folders() -> list[str]:
    """Return the folders of the system, and the environment's own, that can be written to."""
    found = []
    for folder in (sys.prefix, *WATCHED):
        file = Path(folder, ".smoke-probe")
        try:
            file.touch()
            file.unlink()
            found.append(folder)
        except OSError:
            pass
    return found


def main(arguments: Sequence[str]) -> None:
    """Print the facts as JSON on standard output."""
    port, *packages = arguments
    facts = {
        "python": platform.python_version(),
        "prefix": str(Path(sys.prefix).resolve()),
        "markers": marker_environment(),
        "packages": import_packages(packages),
        "imported": imported_files(packages),
        "mapped": mapped_libraries(),
        "distributions": distributions(),
        "network": network(int(port)),
        "process": process(),
        "writable": writable_folders(),
    }
    json.dump(facts, sys.stdout, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
