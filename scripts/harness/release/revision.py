"""The commit that a release is made from: named in full, and checked out."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import CheckFailed, InputError
from harness.process import run

FULL = re.compile(r"[0-9a-f]{40}")


def require_head(root: Path, revision: str) -> None:
    """Raise InputError for what is no full commit id, CheckFailed where HEAD is another commit."""
    if not FULL.fullmatch(revision):
        raise InputError(
            f"{revision!r} is no full commit id: branches, tags and short ids can move",
            fix="make revision REVISION=<40 hex>",
        )
    head = run(["git", "-C", root, "rev-parse", "HEAD"], what="git rev-parse HEAD").strip()
    if head != revision:
        raise CheckFailed(
            f"expected HEAD at {revision}, found {head}",
            where=str(root),
            fix=f"git checkout {revision}",
        )
