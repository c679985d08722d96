"""A patch that no crate of the lock uses."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.inheritance import lock_of
from harness.pins.rules import Context
from harness.pins.tokens import CargoDependency, LockPackage, UnusedPatch

CODE = "patch-unused"
SUMMARY = "[patch] names a crate that nothing uses"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every patch without effect, at the manifest where it stands."""
    repository = context.repository
    explained: set[tuple[str, str]] = set()
    for document, fact in repository.facts(CargoDependency):
        lock = lock_of(repository, document.path) if fact.table.startswith("patch.") else None
        if lock is None:
            continue
        unused = [f for f in lock.facts if isinstance(f, UnusedPatch) and f.name == fact.name]
        known = [f for f in lock.facts if isinstance(f, LockPackage)]
        if not unused and (not known or any(f.name == fact.name for f in known)):
            continue
        explained.add((lock.document.path, fact.name))
        yield finding(
            CODE,
            "warning",
            document,
            fact.at.span,
            f"[{fact.table}] {fact.name}: no crate uses this patch",
            related=[place(lock.document, item.at.span) for item in unused],
            fix="remove the patch, or correct its version",
        )
    for document, unused_patch in repository.facts(UnusedPatch):
        if (document.path, unused_patch.name) not in explained:
            yield finding(
                CODE,
                "warning",
                document,
                unused_patch.at.span,
                f"the lock says that the patch of {unused_patch.name} is not used",
                fix="remove the patch and lock again",
            )
