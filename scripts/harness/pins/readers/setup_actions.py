"""Inputs of well-known actions that choose a version of something."""

from __future__ import annotations

import re

from harness.pins import yaml
from harness.pins.readers import common, compose, toolchain
from harness.pins.readers.workflow_scope import Scope
from harness.pins.text import Traced
from harness.pins.tokens import Claim, Reading, repository_id

# (action, input) -> what the input chooses.
_TOOLCHAINS = {
    ("actions/setup-python", "python-version"): "python",
    ("astral-sh/setup-uv", "python-version"): "python",
    ("conda-incubator/setup-miniconda", "python-version"): "python",
    ("pdm-project/setup-pdm", "python-version"): "python",
    ("dtolnay/rust-toolchain", "toolchain"): "rust",
    ("actions-rs/toolchain", "toolchain"): "rust",
    ("actions-rust-lang/setup-rust-toolchain", "toolchain"): "rust",
    ("moonrepo/setup-rust", "channel"): "rust",
    ("pyo3/maturin-action", "rust-toolchain"): "rust",
}
_DISTRIBUTIONS = {
    ("pyo3/maturin-action", "maturin-version"): "maturin",
    ("astral-sh/setup-uv", "version"): "uv",
    ("astral-sh/ruff-action", "version"): "ruff",
    ("snok/install-poetry", "version"): "poetry",
}
_IMAGES = {("pyo3/maturin-action", "container"), ("docker/setup-qemu-action", "image")}
_FILES = {
    ("actions/setup-python", "python-version-file"),
    ("astral-sh/setup-uv", "version-file"),
}
# Their reference is a toolchain name (`@stable`, `@1.95.0`) unless an input chooses.
_BY_REFERENCE = "dtolnay/rust-toolchain"


def read_inputs(
    reading: Reading, scope: Scope, action: str, reference: Traced | None, inputs: yaml.Node | None
) -> bool:
    """Add the claims of an action's inputs; True where the reference itself is a toolchain."""
    named: dict[str, yaml.Node] = {key.value: value for key, value in yaml.items(inputs)}
    for name, node in named.items():
        for value in _values(scope, node):
            _input(reading, (action, name), value)
        if (action, name) in _TOOLCHAINS:
            compose.lossy(reading, node)
            for entry in yaml.entries(node):
                if entry is not node:
                    compose.lossy(reading, entry)
    if action == "actions/checkout" and "repository" in named:
        _checkout(reading, scope, named)
    if action == _BY_REFERENCE and reference is not None:
        if re.fullmatch(r"[0-9a-f]{40}", reference.text):
            return False
        if "toolchain" not in named:
            toolchain.add(reading, "rust", reference, f"uses {action}")
        return True
    return False


def _values(scope: Scope, node: yaml.Node) -> list[Traced]:
    """Return the values of an input: a scalar, a list, or a line each."""
    found = []
    for entry in yaml.entries(node):
        for text in scope.texts(entry):
            for match in re.finditer(r"[^\s][^\n\r]*", text.text):
                found.append(text.group(match).strip())
    return found


def _input(reading: Reading, key: tuple[str, str], value: Traced) -> None:
    action, name = key
    how = f"{action} {name}"
    if not value.text:
        return
    if key in _TOOLCHAINS:
        kind = _TOOLCHAINS[key]
        if re.match(r"[<>=~^]|pypy|graalpy", value.text):
            return
        toolchain.add(reading, kind, value, how)
    elif key in _DISTRIBUTIONS:
        at = reading.document.located(value)
        distribution = _DISTRIBUTIONS[key]
        reading.claims.append(Claim("distribution", distribution, "exact", at, how, "pep440"))
    elif key in _IMAGES:
        common.image_claims(reading, value, how)
    elif key in _FILES:
        _file(reading, value)


def _file(reading: Reading, value: Traced) -> None:
    # Paths of steps are relative to the checkout, not to the workflow.
    from harness.pins.tokens import FileReference

    if not value.text.startswith(("/", "..")) and "\0" not in value.text:
        span = reading.document.located(value).span
        reading.facts.append(FileReference(value.text.removeprefix("./"), span, "version file"))


def _checkout(reading: Reading, scope: Scope, named: dict[str, yaml.Node]) -> None:
    repository = scope.text(named["repository"])
    if repository is None:
        return
    url = f"https://github.com/{repository.text}"
    reference = scope.text(named.get("ref"))
    traced = Traced(url, [repository.anchor] * len(url))
    name = repository_id(url)
    common.git_claims(reading, "repository", name, traced, reference, "actions/checkout ref")
