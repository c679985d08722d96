""".cargo/config.toml: settings that take crates from elsewhere."""

from __future__ import annotations

from harness.pins import toml
from harness.pins.readers import cargo_manifest
from harness.pins.text import Traced
from harness.pins.tokens import Claim, Override, Reading

NAME = "cargo-config"


def read(reading: Reading) -> None:
    """Read one configuration file."""
    document = reading.document
    root = toml.parse(document)
    if "paths" in root:
        at = document.located(root.keys_at["paths"])
        text = "paths replaces crates by local folders: the lock does not describe what is built"
        reading.facts.append(Override("cargo-source", at, text))
    sources = root.table("source")
    for name in sources:
        if "replace-with" in sources.table(name):
            at = document.located(sources.table(name).keys_at["replace-with"])
            text = f"source {name!r} is replaced: crates come from elsewhere"
            reading.facts.append(Override("cargo-source", at, text))
    cargo_manifest.patches(reading, root)
    for name, value in root.table("env").items():
        inner = value.string("value") if isinstance(value, toml.Table) else value
        if isinstance(inner, Traced):
            at = document.located(inner)
            reading.claims.append(Claim("build-arg", name, "value", at, "[env]"))
