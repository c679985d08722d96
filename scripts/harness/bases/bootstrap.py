"""From Debian packages to a base image, without network, the same bytes every time."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from harness.bases.definition import EXCLUDED, EXCLUDED_DOCS, KEPT_DOCS, Base
from harness.bases.packages import MERGED_USR, require_mmdebstrap
from harness.errors import InputError, ToolError
from harness.images import archive
from harness.process import run, tied

BOOTSTRAP_SECONDS = 900
BOOTSTRAP_FIX = (
    "run as root with CAP_SYS_ADMIN (or as a user with subordinate ids and a checkout that others "
    "may enter), or take the bases from a registry: BASE_REGISTRY=…"
)


def require(checkout: Path) -> None:
    """See that bases can be made here, before anything is downloaded.

    Raises:
        ToolError: Another machine type, or mmdebstrap is missing and can't be installed.
        InputError: The checkout lies in a folder that apt can't name.
    """
    if platform.machine() != "x86_64":
        raise ToolError(
            f"bases from Debian packages are made for x86_64, this is {platform.machine()}",
            fix="build on x86_64, or take the bases from a registry: BASE_REGISTRY=…",
        )
    if re.search(r"\s", str(checkout)):
        raise InputError(
            "apt can't read a local archive below a path with white space",
            where=str(checkout),
            fix="clone into a folder without white space",
        )
    require_mmdebstrap()


def root_filesystem(base: Base, repository: Path, target: Path, epoch: int) -> None:
    """Write the base's files as a tar."""
    words = [
        "mmdebstrap",
        "--quiet",
        f"--variant={base.variant}",
        f"--include={','.join(base.packages)}",
        f"--hook-dir={MERGED_USR}",
        "--skip=output/dev",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED),
    ]
    if base.variant == "extract":
        # Only this hook runs in this variant, and cleaning up needs the apt that it removes.
        words += ["--skip=cleanup", f"--extract-hook={base.hook}"]
    else:
        words += [
            f"--dpkgopt=path-exclude={EXCLUDED_DOCS}",
            f"--dpkgopt=path-include={KEPT_DOCS}",
            f"--customize-hook={base.hook}",
        ]
    words += [base.suite, str(target), f"deb [trusted=yes] copy:{repository} ./"]
    if os.geteuid() == 0:
        words = ["unshare", "--net", "--mount", *words[:1], "--mode=root", *words[1:]]
    else:
        words.insert(1, "--mode=unshare")
    # The tree is built in TMPDIR: beside its target, where space was checked.
    env = {
        "SOURCE_DATE_EPOCH": str(epoch),
        "REPOSITORY": str(repository),
        "TMPDIR": str(target.parent),
        "LC_ALL": "C.UTF-8",
    }
    run(
        tied(words),
        env=env,
        timeout=BOOTSTRAP_SECONDS,
        what=f"bootstrapping the {base.name} base",
        fix=BOOTSTRAP_FIX,
    )
    if not target.stat().st_size:
        raise ToolError(f"bootstrapping the {base.name} base wrote nothing")


def image(base: Base, tree: Path, target: Path, tag: str, epoch: int) -> str:
    """Write the tree as a docker-archive; return the image id."""
    return archive.write(
        target,
        layers=[(archive.digest_of(tree), tree)],
        config=base.config,
        tags=[tag],
        epoch=epoch,
        history=[{"created_by": f"harness: {base.suite} {base.variant} {base.key({})}"}],
    )
