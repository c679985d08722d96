"""From the pin to a folder of sources: the only input of a wheel build."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.console import note, warn
from harness.errors import InputError
from harness.source.git import Repository
from harness.source.pin import SourcePin

WORKTREE = "worktree"
PINNED = "pinned"
DIRTY = "+dirty"


@dataclass(frozen=True)
class Source:
    """One state of the sources, before it is written anywhere.

    Attributes:
        repository: Where the commit is.
        revision: The commit, with "+dirty" for an edited work tree.
        tree: Content id of the exported paths.
        epoch: Time of the commit, in seconds; the time stamp of everything that is built.
        dirty: Built from the work tree.
    """

    repository: Repository
    revision: str
    tree: str
    epoch: int
    paths: tuple[str, ...]
    dirty: bool = False


def repository_of(pin: SourcePin, revision: str | None = None) -> Repository:
    """Return the repository that the pin names; a remote one is fetched up to `revision`."""
    if pin.git == ".":
        return Repository(pin.root)
    folder = pin.cache / hashlib.sha256(pin.git.encode()).hexdigest()[:16]
    repository = Repository(folder, bare=True)
    repository.fetch(pin.git, revision or pin.revision)
    return repository


def resolve(pin: SourcePin, mode: str = PINNED) -> Source:
    """Find the commit that the pin names, or one with the same content.

    Raises:
        InputError: Neither is in the clone, the pin contradicts itself, or the mode is unknown.
    """
    repository = repository_of(pin)
    if mode == WORKTREE:
        return _work_tree(pin, repository)
    if mode != PINNED:
        raise InputError(f"SOURCE={mode} is not known", fix=f"SOURCE={PINNED} or SOURCE={WORKTREE}")
    revision = repository.commit(pin.revision)
    if revision is None:
        revision = next(
            (
                c
                for c in repository.history(pin.paths)
                if repository.tree_id(c, pin.paths) == pin.tree
            ),
            None,
        )
        if revision is None:
            fix = (
                "git fetch --unshallow"
                if repository.is_shallow()
                else ("git fetch the branch that holds it, or `harness source bump` to build HEAD")
            )
            raise InputError(
                f"revision {pin.revision} is not in this clone, and no commit here has its content",
                where=pin.where(),
                fix=fix,
            )
        note(
            f"revision {pin.revision[:12]} is not in this clone; "
            f"{revision[:12]} has the same content"
        )
    elif (tree := repository.tree_id(revision, pin.paths)) != pin.tree:
        raise InputError(
            f"source.tree is {pin.tree}, but the revision's content is {tree}",
            where=pin.where("tree"),
            fix=f"harness source bump {revision}",
        )
    if pin.git == "." and (changed := repository.changes(pin.paths)):
        shown = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        warn(f"local edits are not part of this build ({shown}); SOURCE={WORKTREE} builds them")
    return Source(repository, revision, pin.tree, repository.commit_time(revision), pin.paths)


def _work_tree(pin: SourcePin, repository: Repository) -> Source:
    if pin.git != ".":
        raise InputError(
            f'SOURCE={WORKTREE} needs source.git = ".", not {pin.git!r}',
            where=pin.where(),
        )
    head = repository.commit("HEAD")
    if head is None:
        raise InputError("the repository has no commit yet", where=str(repository.folder))
    rows = []
    for name in repository.work_files(pin.paths):
        path = repository.folder / name
        if path.is_file():
            mode = "100755" if path.stat().st_mode & 0o100 else "100644"
            rows.append(f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()}\t{name}")
    tree = hashlib.sha256("\n".join(rows).encode()).hexdigest()
    epoch = repository.commit_time(head)
    return Source(repository, f"{head}{DIRTY}", tree, epoch, pin.paths, dirty=True)


def export(source: Source, target: Path) -> None:
    """Write the sources into `target`, a folder that is not there yet."""
    if source.dirty:
        for name in source.repository.work_files(source.paths):
            path = source.repository.folder / name
            if path.is_file():
                copy = target / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
        _mark_dirty(target)
    else:
        source.repository.archive(source.revision, source.paths, target)


def _mark_dirty(target: Path) -> None:
    """Give the workspace's packages the local version `X+dirty`, in the manifest and the lock."""
    manifest = target / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8")
    found = re.search(r'(?ms)^\[workspace\.package\].*?^version = "([^"]+)"', text)
    if found is None:
        raise InputError("no version in [workspace.package]", where="Cargo.toml")
    start, end = found.span(1)
    manifest.write_text(f"{text[:end]}{DIRTY}{text[end:]}", encoding="utf-8")
    version = re.escape(text[start:end])
    lock = target / "Cargo.lock"
    # A package of the workspace is an entry without a source.
    entry = re.compile(rf'(\[\[package\]\]\nname = "[^"]+"\nversion = "{version})"(?!\nsource)')
    lock.write_text(entry.sub(rf'\1{DIRTY}"', lock.read_text(encoding="utf-8")), encoding="utf-8")
