"""Does the pin name what is checked out?"""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import InputError
from harness.source.export import repository_of, resolve
from harness.source.pin import SourcePin


@dataclass(frozen=True)
class Drift:
    """Files that differ between the pinned revision and HEAD."""

    pinned: str
    head: str
    files: tuple[str, ...]


def drift(pin: SourcePin) -> Drift | None:
    """Compare the pinned content with HEAD's; None when they are equal."""
    source = resolve(pin)
    repository = source.repository
    head = repository.commit("HEAD") or ""
    if pin.git != "." or repository.tree_id(head, pin.paths) == pin.tree:
        return None
    old = repository.entries(source.revision, pin.paths)
    new = repository.entries(head, pin.paths)
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return Drift(source.revision, head, tuple(changed))


def bump(pin: SourcePin, revision: str = "HEAD") -> tuple[str, str]:
    """Move the pin to `revision`; return the commit and its tree id.

    Raises:
        InputError: No such revision, or the exported paths hold uncommitted changes.
    """
    if pin.git != "." and revision == "HEAD":
        raise InputError(
            f"source.git is {pin.git}: name the revision to pin",
            where=pin.where(),
            fix="harness source bump REVISION",
        )
    repository = repository_of(pin, revision)
    commit = repository.commit(revision)
    if commit is None:
        fix = "name a commit of this clone, or fetch it first"
        if repository.is_shallow():
            fix = "git fetch --unshallow"
        raise InputError(f"no revision {revision} in {pin.git}", where=pin.where(), fix=fix)
    head = repository.commit("HEAD") if pin.git == "." else None
    if commit == head and (changed := repository.changes(pin.paths)):
        raise InputError(
            f"{len(changed)} uncommitted changes would not be in the pinned revision: "
            + ", ".join(changed[:5]),
            fix="commit them first",
        )
    found = repository.entries(commit, pin.paths)
    for path in pin.paths:
        if not any(name == path or name.startswith(f"{path}/") for name in found):
            raise InputError(
                f"source.paths names {path!r}, which {commit[:12]} does not have",
                where=pin.where(),
                fix="correct [source] paths",
            )
    tree = repository.tree_id(commit, pin.paths)
    pin.move(commit, tree)
    return commit, tree
