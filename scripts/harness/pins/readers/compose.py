"""Compose files: images, build arguments, environments, labels."""

from __future__ import annotations

import re

from harness.pins import shell, yaml
from harness.pins.readers import common, labels
from harness.pins.text import Traced
from harness.pins.tokens import (
    Claim,
    LossyNumber,
    NamedContext,
    Reading,
    image_id,
    repository_id,
)

NAME = "compose"


def read(reading: Reading) -> None:
    """Read one compose file."""
    root = yaml.parse(reading.document)
    for key, service in yaml.items(yaml.get(root, "services")):
        name = key.value
        image = _text(reading, yaml.get(service, "image"))
        build = yaml.get(service, "build")
        if image is not None and build is None:
            common.image_claims(reading, image, f"service {name} image")
        _pairs(reading, yaml.get(service, "environment"), f"service {name} environment")
        _labels(reading, yaml.get(service, "labels"), f"service {name} label")
        _build(reading, build, name)
    for key, block in yaml.items(root):
        # Extension fields are templates for services.
        if key.value.startswith("x-"):
            _build(reading, yaml.get(block, "build"), key.value)
            _pairs(reading, yaml.get(block, "args"), key.value)


def _build(reading: Reading, build: yaml.Node | None, name: str) -> None:
    _pairs(reading, yaml.get(build, "args"), f"service {name} build arg")
    _labels(reading, yaml.get(build, "labels"), f"service {name} label")
    for key, context in yaml.items(yaml.get(build, "additional_contexts")):
        reading.facts.append(NamedContext(image_id(key.value)))
        text = _text(reading, context)
        if text is not None and text.text.startswith("docker-image://"):
            common.image_claims(reading, text[15:], f"service {name} context")
    single = _text(reading, build) or _text(reading, yaml.get(build, "context"))
    if single is not None and re.match(r"(?:https?|ssh|git)://|git@", single.text):
        git_context(reading, single, f"service {name} build context")


def git_context(reading: Reading, url: Traced, how: str) -> None:
    """Add the claim of a build context `URL#REF:SUBDIR`."""
    at = url.text.find("#")
    revision = None
    if at >= 0:
        revision = url[at + 1 :]
        colon = revision.text.find(":")
        revision = revision if colon < 0 else revision[:colon]
        url = url[:at]
    common.git_claims(reading, "repository", repository_id(url.text), url, revision, how)


def _pairs(reading: Reading, node: yaml.Node | None, how: str) -> None:
    """Read a mapping, or a list of `NAME=value`."""
    for key, value in yaml.items(node):
        text = _text(reading, value)
        if text is not None and text.text:
            _add(reading, key.value, text, how)
            lossy(reading, value)
    for entry in yaml.entries(node):
        text = _text(reading, entry)
        if text is None:
            continue
        name, equals, rest = text.text.partition("=")
        if equals and rest:
            _add(reading, name, text[len(name) + 1 :], how)


def lossy(reading: Reading, node: yaml.Node | None) -> None:
    """Note a number that lost its zero."""
    becomes = yaml.is_lossy_number(node)
    text = yaml.scalar(reading.document, node)
    if becomes is not None and text is not None:
        reading.facts.append(LossyNumber(reading.document.located(text), becomes))


def _add(reading: Reading, name: str, value: Traced, how: str) -> None:
    at = reading.document.located(value)
    reading.claims.append(Claim("build-arg", name, "value", at, how))


def _labels(reading: Reading, node: yaml.Node | None, how: str) -> None:
    for key, value in yaml.items(node):
        text = _text(reading, value)
        if text is not None:
            labels.read_label(reading, key.value, text, how)
    for entry in yaml.entries(node):
        text = _text(reading, entry)
        if text is not None and "=" in text.text:
            name = text.text.partition("=")[0]
            labels.read_label(reading, name, text[len(name) + 1 :], how)


def _text(reading: Reading, node: yaml.Node | None) -> Traced | None:
    """Return a scalar with `${VAR:-default}` expanded; variables come from outside the file."""
    text = yaml.scalar(reading.document, node)
    if text is None or "$" not in text.text:
        return text
    words = shell.words(text, lambda name: None)
    return words[0] if len(words) == 1 else text
