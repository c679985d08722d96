"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay_sim.errors import ConfigError


def check_target(path: Path) -> None:
    """Refuse a file that could not be written later.

    Raises:
        ConfigError: its folder is missing or read-only, or the path is a folder.
    """
    if path.is_dir():
        raise ConfigError(f"{path}: is a directory\n  fix: name a file")
    folder = path.parent
    if not folder.is_dir():
        raise ConfigError(f"{path}: its folder does not exist\n  fix: mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{path}: its folder cannot be written\n  fix: choose another folder")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path`, which takes its place when the block succeeds.

    Raises:
        OSError: it cannot be written, such as on a full disk; names `path`.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; a result has the mode of any other new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            # The system names no file, or the temporary one.
            raise type(error)(error.errno, error.strerror or str(error), str(path)) from error
        raise
