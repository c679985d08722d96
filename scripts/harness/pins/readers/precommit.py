"""pre-commit configuration: repositories, revisions, additional dependencies."""

from __future__ import annotations

from harness.pins import yaml
from harness.pins.readers import common
from harness.pins.tokens import Reading, repository_id

NAME = "pre-commit"


def read(reading: Reading) -> None:
    """Read one configuration."""
    document = reading.document
    root = yaml.parse(document)
    versions = yaml.get(root, "default_language_version")
    for repo in yaml.entries(yaml.get(root, "repos")):
        url = yaml.scalar(document, yaml.get(repo, "repo"))
        revision = yaml.scalar(document, yaml.get(repo, "rev"))
        if url is not None and url.text not in ("local", "meta"):
            name = repository_id(url.text)
            common.git_claims(
                reading, "repository", name, url, revision, "pre-commit rev", ref="tag"
            )
        for hook in yaml.entries(yaml.get(repo, "hooks")):
            for entry in yaml.entries(yaml.get(hook, "additional_dependencies")):
                text = yaml.scalar(document, entry)
                if text is not None:
                    common.requirement_claims(reading, text, "additional_dependencies")
    python = yaml.scalar(document, yaml.get(versions, "python"))
    if python is not None and python.text.startswith("python3."):
        from harness.pins.readers import toolchain

        toolchain.add(reading, "python", python[6:], "default_language_version")
