"""Which files a repository consists of: what git tracks, or a walk where there is no git."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

# Never a repository's own text, whatever the ignore file says.
SKIPPED = frozenset(
    {
        ".git", ".hg", ".svn", ".venv", "venv", "node_modules", "target", "__pycache__", ".tox",
        ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".eggs", ".direnv",
        ".terraform", ".gradle",
    }
)  # fmt: skip


def files(root: Path) -> list[tuple[str, bool]]:
    """Return (path, is a symlink) of every file, sorted; paths use forward slashes."""
    tracked = _tracked(root)
    return sorted(tracked if tracked else _walked(root))


def _tracked(root: Path) -> list[tuple[str, bool]] | None:
    """Return the files that git tracks below `root`, or None where git can't say."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return None
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--stage"],
            cwd=root,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    found: dict[str, bool] = {}
    for entry in os.fsdecode(done.stdout).split("\0"):
        mode, _, path = entry.partition("\t")
        # 160000 is a submodule: another repository, with pins of its own.
        if path and not mode.startswith("160000"):
            found[path] = mode.startswith("120000")
    return list(found.items())


def _walked(root: Path) -> list[tuple[str, bool]]:
    found = []
    ignored = _ignore_file(root / ".gitignore")
    for folder, names, plain in os.walk(root):
        below = os.path.relpath(folder, root)
        prefix = "" if below == "." else below.replace(os.sep, "/") + "/"
        linked = [name for name in names if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
        names[:] = sorted(
            name
            for name in names
            if name not in SKIPPED and name not in linked and not ignored(f"{prefix}{name}/")
        )
        for name in plain:
            if not ignored(f"{prefix}{name}"):
                link = os.path.islink(os.path.join(folder, name))  # noqa: PTH114, PTH118
                found.append((f"{prefix}{name}", link))
    return found


class _ignore_file:
    """The simple part of a .gitignore: names, folders, wildcards; no negation."""

    def __init__(self, path: Path) -> None:
        self.patterns = []
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
        for line in lines:
            line = line.strip()
            if not line or line[0] in "#!":
                continue
            anchored = "/" in line.rstrip("/")
            body = line.strip("/") if anchored else f"**/{line.strip('/')}"
            self.patterns.append(glob(body + ("/" if line.endswith("/") else "{,/}")))

    def __call__(self, path: str) -> bool:
        return any(pattern.fullmatch(path) for pattern in self.patterns)


@lru_cache(maxsize=512)
def glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob: `*` and `?` stay inside a folder, `**` crosses, `{a,b}` chooses."""
    out = []
    at = 0
    depth = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if pattern.startswith("**/", at - 1):
            out.append("(?:.*/)?")
            at += 2
        elif pattern.startswith("**", at - 1):
            out.append(".*")
            at += 1
        elif char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and "]" in pattern[at + 1 :]:
            end = pattern.index("]", at + 1)
            body = pattern[at:end].replace("\\", "\\\\")
            out.append(f"[^{body[1:]}]" if body[0] in "!^" else f"[{body}]")
            at = end + 1
        elif char == "{":
            out.append("(?:")
            depth += 1
        elif char == "," and depth:
            out.append("|")
        elif char == "}" and depth:
            out.append(")")
            depth -= 1
        else:
            out.append(re.escape(char))
    return re.compile("".join(out) + ")" * depth, re.DOTALL)
