"""`harness pins lock`: compile requirement files and refresh Cargo.lock.

The only command of this group that uses the network.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from harness.console import note, step
from harness.errors import ToolError
from harness.files import write_atomically
from harness.pins import record
from harness.pins.repository import Repository
from harness.pins.tokens import RequirementFile
from harness.process import run

# Hashes for every file, nothing of this machine's package index in the result.
PIP_COMPILE = (
    "--quiet",
    "--strip-extras",
    "--allow-unsafe",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-trusted-host",
)
TIMEOUT = 900.0
# Runs `cargo update` with these arguments beside the Cargo.lock of that path.
Cargo = Callable[[Repository, str, tuple[str, ...]], None]


def inputs(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield each input of a compiled requirement file, and that file."""
    seen = set()
    for document, fact in repository.facts(RequirementFile):
        if len(fact.compiled_from) == 1 and fact.compiled_from[0].endswith(".in"):
            seen.add(document.path)
            yield fact.compiled_from[0], document.path
    for document, _ in repository.facts(RequirementFile):
        output = document.path.removesuffix(".in") + ".txt"
        folder = document.path.rpartition("/")[0]
        compiled = any(path.rpartition("/")[0] == folder for path in seen)
        if document.path.endswith(".in") and compiled and output not in seen:
            yield document.path, output


def lock(repository: Repository, *, upgrade: bool = False, cargo: Cargo | None = None) -> None:
    """Compile every requirement file and refresh every Cargo.lock.

    Args:
        repository: The repository.
        upgrade: Take the newest versions that the inputs admit, instead of keeping what is locked.
        cargo: What runs cargo where the host has none.
    """
    pairs = sorted(inputs(repository), key=lambda pair: pair[1])
    locks = [path for path in sorted(repository.paths) if path.rpartition("/")[2] == "Cargo.lock"]
    if pairs and find_spec("piptools") is None:
        raise ToolError("pip-tools is not installed", fix="make setup")
    if cargo is None or shutil.which("cargo") is not None:
        cargo = _host_cargo
    # The first that may find its tool missing goes first: then nothing is half done.
    for path in locks:
        _refresh(repository, path, upgrade, cargo)
    for source, target in pairs:
        _compile(repository.root, source, target, upgrade)


def write_record(repository: Repository, *, new: bool = False) -> None:
    """Write pins.sum anew where the repository keeps one, or where it is to begin (`new`)."""
    path = record.path_of(repository.pins)
    file = repository.root / path
    if new or file.is_file():
        step(path)
        text = record.render(repository)
        changed = not file.is_file() or file.read_text("utf-8") != text
        if changed:
            write_atomically(file, text)
        note("changed" if changed else "unchanged")


def _compile(root: Path, source: str, target: str, upgrade: bool) -> None:
    step(f"{source} -> {target}")
    file = root / target
    before = file.read_bytes() if file.is_file() else None
    command = [sys.executable, "-m", "piptools", "compile", *PIP_COMPILE]
    command += ["--upgrade"] if upgrade else []
    try:
        run(
            [*command, "--output-file", target, source],
            cwd=root,
            env={"CUSTOM_COMPILE_COMMAND": ""},
            timeout=TIMEOUT,
            what=f"compiling {source}",
            fix="see what pip says above: a name, a version or the network",
        )
    except BaseException:
        if before is not None and file.read_bytes() != before:
            write_atomically(file, before)
        raise
    note("unchanged" if before == file.read_bytes() else "changed")


def _refresh(repository: Repository, path: str, upgrade: bool, cargo: Cargo) -> None:
    step(path)
    file = repository.root / path
    before = file.read_bytes()
    cargo(repository, path, () if upgrade else ("--workspace",))
    note("unchanged" if before == file.read_bytes() else "changed")


def _host_cargo(repository: Repository, path: str, arguments: tuple[str, ...]) -> None:
    manifest = (repository.root / path).with_name("Cargo.toml")
    run(
        ["cargo", "update", "--manifest-path", manifest, *arguments],
        cwd=repository.root,
        timeout=TIMEOUT,
        what=f"refreshing {path}",
        fix="install a Rust toolchain, or see what cargo says above",
    )
