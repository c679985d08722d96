"""Writing several files as one step: all of them, or none.

Every new content is written beside its file first; only then are the files exchanged. An error on
the way puts the old ones back. A process that is killed between two exchanges leaves a journal, and
the next command that writes puts the old files back before it does anything else.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.errors import InputError

JOURNAL = ".harness-pins-journal.json"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def write_all(root: Path, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
    """Replace files of the repository.

    Args:
        root: The repository.
        before: What each file held when it was read; a file that changed since is not touched.
        after: What each file will hold. Links are followed and stay links; modes are kept.

    Raises:
        InputError: A file can't be written, or changed meanwhile. Nothing was changed then.
    """
    recover(root)
    targets = {path: _target(root, path) for path in sorted(after)}
    for path, target in targets.items():
        _check(path, target, before[path])
    fresh: dict[Path, Path] = {}
    old: dict[Path, Path] = {}
    journal = root / JOURNAL
    try:
        for path, target in targets.items():
            fresh[target] = _temporary(target, after[path])
        for path, target in targets.items():
            old[target] = _temporary(target, before[path])
        entries = [[str(target), str(saved)] for target, saved in old.items()]
        _write_journal(journal, entries)
        with _unkillable():
            try:
                for target, temporary in fresh.items():
                    temporary.replace(target)
            except BaseException:
                recover(root)
                raise
            journal.unlink()
    except OSError as error:
        raise InputError(
            f"nothing was written: {error.strerror or error}",
            where=str(error.filename or root),
            fix="make room, or make the files and folders writable, and run it again",
        ) from error
    finally:
        # While there is a journal, the old files are what it puts back.
        saved = () if journal.exists() else old.values()
        for leftover in (*fresh.values(), *saved):
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)


def recover(root: Path) -> list[str]:
    """Put back what a killed run left half exchanged; return the files."""
    journal = root / JOURNAL
    if not journal.is_file():
        return []
    restored = []
    for target, saved in json.loads(journal.read_text("utf-8")):
        if Path(saved).is_file():
            Path(saved).replace(target)
            restored.append(target)
    journal.unlink()
    return restored


def _target(root: Path, path: str) -> Path:
    target = Path(os.path.realpath(root / path))
    if not target.is_relative_to(os.path.realpath(root)) and (root / path).is_symlink():
        raise InputError("the link leads out of the repository", where=path)
    return target


def _check(path: str, target: Path, before: bytes) -> None:
    try:
        mode = target.stat().st_mode
        data = target.read_bytes()
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", where=path) from error
    if data != before:
        raise InputError("changed while it was being looked at", where=path, fix="run it again")
    # A rename would replace a read-only file without a word.
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise InputError("is read-only: nothing was written", where=path, fix=f"chmod u+w {path}")


def _temporary(target: Path, data: bytes) -> Path:
    """Write `data` beside `target`, with its mode and owner."""
    state = target.stat()
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(stat.S_IMODE(state.st_mode))
        with contextlib.suppress(OSError):
            os.chown(temporary, state.st_uid, state.st_gid)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _write_journal(journal: Path, entries: list[list[str]]) -> None:
    temporary = journal.with_suffix(".tmp")
    try:
        temporary.write_text(json.dumps(entries), "utf-8")
        temporary.replace(journal)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _unkillable() -> Iterator[None]:
    """Hold signals back while files are exchanged."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
