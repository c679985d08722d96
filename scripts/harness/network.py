"""The host's mirrors, proxies and certificates, as build secrets.

Each fetcher in a build gets what the host's own pip and cargo would use: configuration files, the
variables that steer them, proxies, and the CA bundle. They are mounted as secrets, so nothing of
them is in a layer, in the history or in a cache key. apt runs on the host and needs no secret.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from harness.errors import InputError

CA_SECRET = "ca"
# Where the secret lies in the container; the variables below name it.
CA_MOUNT = "/run/secrets/ca"
# First the variables that name a bundle, then where systems keep theirs.
CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
CA_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
CA_CONSUMERS = (*CA_VARIABLES, "CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO")
PREFIXES = ("PIP_", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_")
CARGO_TABLES = ("source", "registries", "registry", "http", "net")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
# These name folders of the host, or would change what is fetched.
HOST_ONLY = (
    "PIP_FIND_LINKS",
    "PIP_CONFIG_FILE",
    "PIP_CACHE_DIR",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_LOG",
    "PIP_NO_INDEX",
    "PIP_CONSTRAINT",
    "PIP_REQUIREMENT",
    "PIP_SRC",
    "PIP_PRE",
    "PIP_PYTHON",
    "PIP_CLIENT_CERT",
    "PIP_DEST",
    "PIP_ROOT",
    "PIP_REPORT",
    "PIP_DRY_RUN",
    "CARGO_NET_OFFLINE",
)


@dataclass(frozen=True)
class Secrets:
    """Secret id to the file on the host that holds it."""

    files: Mapping[str, Path]

    def arguments(self) -> list[str]:
        """Return the client's arguments."""
        pairs = sorted(self.files.items())
        return [word for name, path in pairs for word in ("--secret", f"id={name},src={path}")]


def ca_bundle() -> Path | None:
    """Return the host's CA bundle.

    Raises:
        InputError: A variable names a bundle that is not there.
    """
    for name in CA_VARIABLES:
        if value := os.environ.get(name):
            if not Path(value).is_file():
                raise InputError(
                    f"{name} names {value}, which is not a file", fix=f"correct or unset {name}"
                )
            return Path(value)
    return next((Path(place) for place in CA_PLACES if Path(place).is_file()), None)


def environment() -> dict[str, str]:
    """Return the variables that the fetchers in the container get."""
    chosen = {
        name: value
        for name, value in os.environ.items()
        if (name.startswith(PREFIXES) and name not in HOST_ONLY) or name.upper() in PROXIES
    }
    if ca_bundle():
        chosen.update(dict.fromkeys(CA_CONSUMERS, CA_MOUNT))
    return dict(sorted(chosen.items()))


def _pip_configuration() -> str:
    """Return pip's merged configuration files as one, less what names folders of the host."""
    answer = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if answer.returncode != 0:
        raise InputError(
            f"pip can't read its configuration: {answer.stderr.strip()}",
            fix="correct the file that pip names",
        )
    sections: dict[str, list[str]] = {}
    for line in answer.stdout.splitlines():
        name, found, value = line.partition("=")
        section, _, option = name.partition(".")
        variable = f"PIP_{option.upper().replace('-', '_')}"
        # `:env:` rows are the variables, which travel on their own.
        if not found or section == ":env:" or variable in HOST_ONLY or option == "cert":
            continue
        text = value.strip("'\"").replace("\\n", "\n    ")
        sections.setdefault(section, []).append(f"{option} = {text}")
    return "".join(
        f"[{section}]\n" + "\n".join(options) + "\n" for section, options in sections.items()
    )


def _cargo_configuration() -> str:
    """Return what cargo needs to download, without what steers the host's own compiles."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    # cargo reads `config` where both are there.
    file = next(
        (home / name for name in ("config", "config.toml") if (home / name).is_file()), None
    )
    if file is None:
        return ""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=str(file)) from error
    kept = {name: tables[name] for name in CARGO_TABLES if name in tables}
    kept.get("http", {}).pop("cainfo", None)
    return tomlkit.dumps(kept)


def collect(folder: Path) -> Secrets:
    """Write the secrets into `folder`, readable by the owner only."""
    exports = "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in environment().items()
    )
    contents = {
        "env": exports or "# nothing to say\n",
        "pip": _pip_configuration() or "# pip's defaults\n",
        "cargo": _cargo_configuration() or "# cargo's defaults\n",
    }
    bundle = ca_bundle()
    blobs = {name: text.encode() for name, text in contents.items()}
    blobs[CA_SECRET] = bundle.read_bytes() if bundle else b"\n"
    files = {}
    for name, blob in blobs.items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(blob)
        files[name] = path
    return Secrets(files)
