"""`cargo update` on a host without cargo: in the builder base, with the host's network settings."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path, PurePosixPath

from harness import network
from harness.bases.choose import provide
from harness.engine import find
from harness.engine.build import Build, build
from harness.errors import ToolError
from harness.files import write_atomically
from harness.images.fetch import explain
from harness.pins.repository import Repository
from harness.workspace import Workspace

COPIED = ("Cargo.toml", "Cargo.lock")
CONFIGURATION = (".cargo/config.toml", ".cargo/config")


def update(
    workspace: Workspace, repository: Repository, path: str, arguments: tuple[str, ...]
) -> None:
    """Refresh one Cargo.lock.

    Args:
        workspace: The checkout that defines the builder.
        repository: The repository of the lock.
        path: The lock, relative to the root of the repository.
        arguments: What follows `cargo update`.

    Raises:
        ToolError: There is no engine either, or cargo failed.
    """
    try:
        engine = find()
    except ToolError as error:
        raise ToolError(
            f"cargo is not installed, and {path} can't be refreshed in the builder image instead: "
            + error.message,
            where=error.where,
            fix=f"install a Rust toolchain, or {error.fix}",
        ) from error
    with workspace.locked(), workspace.scratch() as folder:
        context, secrets, output = folder / "context", folder / "secrets", folder / "output"
        _lay_out(repository, context)
        secrets.mkdir(mode=0o700)
        request = Build(
            name="cargo-update",
            dockerfile=workspace.container / "lock.Dockerfile",
            context=context,
            target="refreshed",
            arguments={
                "BUILDER_BASE": provide(workspace, engine)["builder"].reference,
                "FOLDER": str(PurePosixPath(path).parent),
                "ARGUMENTS": " ".join(arguments),
                # The registry's answer of another time is no answer.
                "MOMENT": str(time.time_ns()),
            },
            network="host",
            secrets=network.collect(secrets),
            output=output,
        )
        try:
            build(engine, request, workspace.logs)
        except ToolError as error:
            raise explain(error) from error
        write_atomically(repository.root / path, (output / "Cargo.lock").read_bytes())


def _lay_out(repository: Repository, context: Path) -> None:
    """Copy manifests and locks; empty sources in their places let cargo find the targets."""
    for path in repository.all_files:
        copied = PurePosixPath(path).name in COPIED or path.endswith(CONFIGURATION)
        source, target = repository.root / path, context / path
        if not (copied or path.endswith(".rs")) or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if copied:
            shutil.copyfile(os.path.realpath(source), target)
        else:
            target.touch()
