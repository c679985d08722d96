"""Cargo.toml: every dependency table, inheritance, patches, versions, features."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins import toml
from harness.pins.readers import common
from harness.pins.text import Traced
from harness.pins.tokens import (
    CargoDependency,
    CargoPackage,
    CargoWorkspace,
    Claim,
    Fault,
    Mention,
    Override,
    Reading,
    crate_id,
    repository_id,
)

NAME = "cargo-manifest"
TABLES = (
    "dependencies", "dev-dependencies", "build-dependencies", "dev_dependencies",
    "build_dependencies",
)  # fmt: skip
_REFERENCES = ("rev", "branch", "tag")


def read(reading: Reading) -> None:
    """Read one manifest."""
    root = toml.parse(reading.document)
    _package(reading, root)
    _workspace(reading, root)
    for label, table in dependency_tables(root):
        for key, value in table.items():
            dependency(reading, label, key, table.keys_at[key], value)
    patches(reading, root)
    for key, value in root.table("replace").items():
        at = root.table("replace").keys_at[key]
        name = key.rpartition("#")[2].partition(":")[0].partition("@")[0]
        dependency(reading, "replace", name, at, value)
        reading.facts.append(
            Override(
                "cargo-source", reading.document.located(at),
                f"[replace] swaps {name}: the lock may not describe what is built",
            )
        )  # fmt: skip
    for key, at in root.table("features").keys_at.items():
        reading.facts.append(Mention("feature", key, reading.document.located(at)))


def dependency_tables(root: toml.Table) -> Iterator[tuple[str, toml.Table]]:
    """Yield the label and content of every dependency table."""
    for name in TABLES:
        yield name, root.table(name)
    yield "workspace.dependencies", root.table("workspace").table("dependencies")
    targets = root.table("target")
    for target in targets:
        for name in TABLES:
            yield f"target.{target}.{name}", targets.table(target).table(name)


def patches(reading: Reading, root: toml.Table) -> None:
    """Read `[patch]`, in a manifest or in .cargo/config.toml."""
    sources = root.table("patch")
    for source in sources:
        table = sources.table(source)
        for key, value in table.items():
            dependency(reading, f"patch.{source}", key, table.keys_at[key], value)


def _package(reading: Reading, root: toml.Table) -> None:
    package = root.table("package")
    name = package.string("name")
    _floor(reading, package, "[package] rust-version")
    if name is None:
        return
    version = package.string("version")
    located = reading.document.located(version) if version is not None else None
    inherits = package.table("version").flag("workspace")
    at = reading.document.located(name)
    reading.facts.append(CargoPackage(crate_id(name.text), located, inherits, at))
    if located is not None:
        how = "[package] version"
        reading.claims.append(Claim("crate", crate_id(name.text), "exact", located, how, "semver"))


def _floor(reading: Reading, table: toml.Table, how: str) -> None:
    floor = table.string("rust-version")
    if floor is not None:
        at = reading.document.located(floor)
        reading.claims.append(Claim("toolchain", "rust", "floor", at, how))


def _workspace(reading: Reading, root: toml.Table) -> None:
    if "workspace" not in root:
        return
    workspace = root.table("workspace")
    shared = workspace.table("package")
    _floor(reading, shared, "[workspace.package] rust-version")
    version = shared.string("version")
    locate = reading.document.located
    reading.facts.append(
        CargoWorkspace(
            locate(version) if version is not None else None,
            tuple(map(locate, workspace.strings("members"))),
            tuple(map(locate, workspace.strings("exclude"))),
        )
    )
    for member in workspace.strings("members"):
        if not any(char in member.text for char in "*?["):
            common.refer(reading, member, "workspace member", "/Cargo.toml")


def dependency(reading: Reading, label: str, key: str, at: Traced, value: toml.Value) -> None:
    """Read one entry of a dependency table."""
    document = reading.document
    how = f"[{label}] {key}"
    # Target tables are alternatives of one another: each is a scope of its own.
    scope = f"{document.path}#{label}"
    if isinstance(value, Traced):
        common.crate_claim(reading, key, value, how, scope)
        reading.facts.append(
            CargoDependency(crate_id(key), label, document.located(at), document.located(value))
        )
        return
    if not isinstance(value, toml.Table):
        return
    renamed = value.string("package")
    name = crate_id(renamed.text if renamed is not None else key)
    wanted, git, path = value.string("version"), value.string("git"), value.string("path")
    references = [(ref, text) for ref in _REFERENCES if (text := value.string(ref)) is not None]
    inherits = value.flag("workspace")
    if inherits:
        _refused_beside_workspace(reading, key, value)
    if wanted is not None:
        common.crate_claim(reading, name, wanted, how, scope)
    if path is not None:
        common.refer(reading, path, "path dependency", "/Cargo.toml")
    if git is not None:
        _git(reading, name, key, git, references, how, scope)
    if wanted is None and git is None and not inherits:
        located = document.located(at)
        reading.claims.append(Claim("crate", name, "name", located, how, "semver"))
    for feature in value.strings("features"):
        reading.facts.append(Mention("feature", feature.text, document.located(feature)))
    reading.facts.append(
        CargoDependency(
            name=name,
            table=label,
            at=document.located(at),
            requirement=document.located(wanted) if wanted is not None else None,
            path=document.located(path) if path is not None else None,
            git=document.located(git) if git is not None else None,
            repository=repository_id(git.text) if git is not None else None,
            references=tuple((ref, document.located(text)) for ref, text in references),
            inherits=inherits,
        )
    )


def _git(
    reading: Reading,
    name: str,
    key: str,
    git: Traced,
    references: list[tuple[str, Traced]],
    how: str,
    scope: str,
) -> None:
    if len(references) > 1:
        names = " and ".join(ref for ref, _ in references)
        reading.faults.append(
            Fault(
                "ambiguous-source", reading.document.located(references[1][1]).span,
                f"{key} has {names}: Cargo accepts one of them", fix="keep rev alone",
            )
        )  # fmt: skip
    for ref, text in references:
        common.git_claims(reading, "crate", name, git, text, how, ref=ref, scope=scope)
    if not references:
        common.git_claims(reading, "crate", name, git, None, how, scope=scope)


def _refused_beside_workspace(reading: Reading, key: str, value: toml.Table) -> None:
    for other in ("package", "version", "git", "path", *_REFERENCES):
        if other in value:
            reading.faults.append(
                Fault(
                    "invalid-dependency",
                    reading.document.located(value.keys_at[other]).span,
                    f"{key} inherits from the workspace and has its own {other}",
                    fix=f"move {other} to [workspace.dependencies]",
                )
            )
