"""The base definitions in container/bases/."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError

NAMES = ("builder", "runtime")
# Left out of every base; licences stay.
EXCLUDED = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/lintian/*")
EXCLUDED_DOCS = "/usr/share/doc/*"
KEPT_DOCS = "/usr/share/doc/*/copyright"


@dataclass(frozen=True, eq=False)
class Base:
    """One base image.

    Attributes:
        name: Name of the definition file.
        suite: Debian suite.
        variant: mmdebstrap variant: "essential" installs, "extract" only unpacks.
        packages: Debian packages asked for; what they need comes along.
        hook: The script that finishes the tree.
        config: OCI image configuration (Env, User, …).
    """

    name: str
    suite: str
    variant: str
    packages: tuple[str, ...]
    hook: Path
    config: dict[str, Any]
    text: str

    @property
    def requested(self) -> tuple[str, ...]:
        """What apt is asked for; an installed system holds every essential package."""
        return self.packages if self.variant == "extract" else ("?essential", *self.packages)

    def key(self, packages: dict[str, str]) -> str:
        """Return the content id of the base made of these packages (file name to sha256)."""
        digest = hashlib.sha256(self.text.encode())
        digest.update(repr((EXCLUDED, EXCLUDED_DOCS, KEPT_DOCS)).encode())
        digest.update(self.hook.read_bytes())
        digest.update("".join(f"{sha} {name}\n" for name, sha in sorted(packages.items())).encode())
        return digest.hexdigest()[:16]


def load(folder: Path, name: str) -> Base:
    """Read container/bases/NAME.toml."""
    file = folder / f"{name}.toml"
    try:
        text = file.read_text(encoding="utf-8")
        table = tomllib.loads(text)
        return Base(
            name=name,
            suite=table["suite"],
            variant=table["variant"],
            packages=tuple(table["packages"]),
            hook=folder / "hooks" / table["hook"],
            config=table["config"],
            text=text,
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise InputError(f"bad base definition: {error!r}", where=str(file)) from error
