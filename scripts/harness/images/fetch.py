"""Downloading: crates by Cargo.lock, wheels by hash. The only step that uses the network."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from harness import network
from harness.console import note
from harness.engine import Engine
from harness.engine.build import Build, build
from harness.errors import ToolError
from harness.images.context import context_of
from harness.workspace import Workspace, read_json, write_json

OUTPUTS = ("vendor", "wheels")
# What the end of a failed download says, what that means, and the fix.
CAUSES = (
    (
        r"DO NOT MATCH THE HASHES",
        "a wheel has another hash than its lock says",
        "the index serves other bytes than were locked: find out why; `make lock` accepts them",
    ),
    (
        r"checksum for `[^`]+` (changed|could not)|unable to verify checksum",
        "a crate has another checksum than Cargo.lock says",
        "the registry serves other bytes than were locked: find out why before `cargo update`",
    ),
    (
        r"lock file .* needs to be updated",
        "Cargo.lock does not belong to the manifests",
        "cargo update --workspace, and commit Cargo.lock",
    ),
    (
        r"(?i)timed out|timeout|connection refused|connection reset|could not resolve|"
        r"from versions: none|name resolution|failed to connect|max retries|no route to host|"
        r"network is unreachable",
        "a registry does not answer, or does not have what is locked",
        "see that the host's pip and cargo reach theirs: the build uses their configuration, the "
        "proxies and the certificates (PIP_INDEX_URL, HTTPS_PROXY, SSL_CERT_FILE, cargo's config)",
    ),
)


def _inputs_key(context: Path, recipe: Path, base: str) -> str:
    """Return the content id of everything that decides what is downloaded."""
    digest = hashlib.sha256(f"{base}\n".encode())
    digest.update(recipe.read_bytes())
    for folder in ("manifests", "locks"):
        for path in sorted((context / folder).rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(context)}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def explain(error: ToolError) -> ToolError:
    """Say what a failed download means, where its output shows that."""
    for pattern, meaning, fix in CAUSES:
        if found := re.search(pattern, error.message):
            lines = [line for line in error.message.splitlines() if found[0] in line]
            return ToolError(f"{meaning}\n  {lines[0].strip()}", where=error.where, fix=fix)
    return error


def fetch(workspace: Workspace, engine: Engine, builder_base: str) -> None:
    """See that vendor/ and wheels/ belong to the present locks."""
    context = context_of(workspace)
    recipe = workspace.container / "fetch.Dockerfile"
    stamp = context / "fetched.json"
    key = _inputs_key(context, recipe, builder_base)
    if read_json(stamp).get("key") == key and all((context / name).is_dir() for name in OUTPUTS):
        note("crates and wheels are here already")
        return
    with workspace.scratch() as folder:
        inputs = folder / "inputs"
        for name in ("manifests", "locks"):
            shutil.copytree(context / name, inputs / name)
        secrets = folder / "secrets"
        secrets.mkdir(mode=0o700)
        request = Build(
            name="fetch",
            dockerfile=recipe,
            context=inputs,
            target="fetched",
            arguments={"BUILDER_BASE": builder_base},
            network="host",
            secrets=network.collect(secrets),
            output=folder / "outputs",
        )
        try:
            build(engine, request, workspace.logs)
        except ToolError as error:
            raise explain(error) from error
        # The stamp goes first: without it a half-replaced pair is fetched again.
        stamp.unlink(missing_ok=True)
        for name in OUTPUTS:
            workspace.publish(folder / "outputs" / name, context / name)
    write_json(stamp, {"key": key})
