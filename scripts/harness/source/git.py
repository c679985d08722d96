"""The few git calls that the harness makes."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.errors import InputError, ToolError

FULL_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Repository:
    """One git repository, with a work tree or bare."""

    def __init__(self, folder: Path, *, bare: bool = False) -> None:
        self.folder = folder
        # --git-dir: a folder that is no repository must not be taken for the one around it.
        self._place = ["--git-dir", str(folder)] if bare else ["-C", str(folder)]

    def _git(self, *words: str, check: bool = True, timeout: float = 120) -> str | None:
        command = ["git", *self._place, *words]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=timeout
            )
        except FileNotFoundError as error:
            raise ToolError("git is not installed", fix="install git") from error
        except subprocess.TimeoutExpired as error:
            raise ToolError(
                f"git {words[0]}: no answer within {timeout:g} s", where=str(self.folder)
            ) from error
        if done.returncode == 0:
            return done.stdout
        if not check:
            return None
        if "not a git repository" in done.stderr:
            raise InputError(
                "not a git repository",
                where=str(self.folder),
                fix="the pinned source is read from git: work in a clone",
            )
        raise ToolError(f"git {words[0]} failed: {done.stderr.strip()}", where=str(self.folder))

    def commit(self, revision: str) -> str | None:
        """Return the full id of a commit, or None when it is not here."""
        found = self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", check=False)
        return found.strip() if found else None

    def is_shallow(self) -> bool:
        """Say whether history is cut off."""
        return (self._git("rev-parse", "--is-shallow-repository", check=False) or "").strip() == (
            "true"
        )

    def entries(self, revision: str, paths: Sequence[str]) -> dict[str, str]:
        """Return path to "mode id" of every file below `paths` at `revision`."""
        listing = self._git("ls-tree", "-r", "-z", "--full-tree", revision, "--", *paths) or ""
        rows = (row.partition("\t") for row in listing.split("\0") if row)
        return {path: head.replace(" blob", "") for head, _, path in rows}

    def tree_id(self, revision: str, paths: Sequence[str]) -> str:
        """Return the content id (sha256) of the files below `paths` at `revision`.

        The id covers modes, blob ids and paths, not history: a rebase or a squash keeps it.
        """
        rows = sorted(f"{entry}\t{path}" for path, entry in self.entries(revision, paths).items())
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def history(self, paths: Sequence[str]) -> list[str]:
        """Return the reachable commits that touch `paths`, newest first."""
        return (self._git("rev-list", "--all", "HEAD", "--", *paths) or "").split()

    def archive(self, revision: str, paths: Sequence[str], target: Path) -> None:
        """Write the files below `paths` at `revision` into the folder `target`."""
        target.mkdir(parents=True, exist_ok=True)
        # The same bytes and modes whatever the user's git does to line ends and permissions.
        fixed = ["-c", "core.autocrlf=false", "-c", "core.eol=lf", "-c", "tar.umask=0022"]
        words = [*fixed, "archive", "--format=tar", revision, "--", *paths]
        command = ["git", *self._place, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as git:
            unpack = subprocess.run(["tar", "-x", "-C", str(target)], stdin=git.stdout, check=False)
            assert git.stderr is not None
            said = git.stderr.read().decode(errors="replace").strip()
        if git.returncode != 0 or unpack.returncode != 0:
            raise ToolError(f"exporting {revision} failed: {said}", where=str(self.folder))

    def changes(self, paths: Sequence[str]) -> list[str]:
        """Return the files below `paths` whose content is not committed."""
        status = self._git(
            "status", "--porcelain", "--no-renames", "-z", "--untracked-files=all", "--", *paths
        )
        return [row[3:] for row in (status or "").split("\0") if row]

    def work_files(self, paths: Sequence[str]) -> list[str]:
        """Return the files below `paths` in the work tree that git does not ignore."""
        listing = self._git("ls-files", "-z", "-co", "--exclude-standard", "--", *paths) or ""
        return sorted({path for path in listing.split("\0") if path})

    def commit_time(self, revision: str) -> int:
        """Return a commit's time in seconds since the epoch."""
        return int((self._git("show", "-s", "--format=%ct", revision) or "0").strip())

    def fetch(self, url: str, revision: str) -> None:
        """See that this bare repository has `revision` of `url`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._git("init", "--bare", "--quiet", str(self.folder))
        if self.commit(revision) is None:
            self._git("fetch", "--quiet", "--tags", url, "+refs/heads/*:refs/heads/*", timeout=600)
