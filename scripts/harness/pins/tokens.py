"""What readers return: claims about versions, facts about structure, faults of the file.

No token says whether it is right: that is the rules' business. Tokens are compared by identity,
which keeps the definition of so many classes cheap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from harness.pins.text import UNRESOLVED, Document, Located, Span

Kind = Literal[
    "crate", "distribution", "image", "build-arg", "label", "action", "toolchain", "repository",
    "package",
]  # fmt: skip
# exact: one version; range: a requirement; tag: an image tag or another version by prefix;
# floor: a least version; revision: a git reference; digest: a content id; value: a build argument,
# whose meaning depends on its pin; url: the place of a repository; name: a mention without value.
Aspect = Literal["exact", "range", "tag", "floor", "revision", "digest", "value", "url", "name"]
Grammar = Literal["pep440", "semver", "plain"]


@dataclass(eq=False)
class Claim:
    """One place that says which version, revision or digest of something is meant."""

    kind: Kind
    name: str
    aspect: Aspect
    at: Located
    how: str
    grammar: Grammar = "plain"
    # For revisions: the repository (see `repository_id`) and what the reference is called there.
    repository: str | None = None
    ref: Literal["rev", "branch", "tag", "default", "unknown"] = "unknown"
    # Why the fixer must not write here, where it must not: a lock tool can, or only a person.
    locked: str | None = None
    by_hand: str | None = None
    # Claims of one scope must not name one thing twice with two values.
    scope: str | None = None
    marker: str = ""
    platform: str = ""
    # `# v1.2.3` beside an action's revision.
    comment: Located | None = None
    # An image carries a digest too, or a mention belongs to a derived file (a lock).
    digest: Located | None = None
    derived: bool = False
    # The whole image tag, of which `at` is the version.
    tag: str = ""
    # What belongs to the value and to no other: hashes, source, dependencies of a lock's entry.
    content: str = ""

    @property
    def text(self) -> str:
        """The value as understood."""
        return self.at.text


@dataclass(eq=False)
class Fault:
    """The file is malformed, or says something that its own tool refuses."""

    code: str
    at: Span
    message: str
    severity: Literal["error", "warning", "note"] = "error"
    fix: str | None = None


@dataclass(eq=False)
class Fact:
    """Base of everything that structural rules look at."""


@dataclass(eq=False)
class CargoPackage(Fact):
    """`[package]` of a manifest; `version` is None where inherited or absent."""

    name: str
    version: Located | None
    inherits: bool
    at: Located


@dataclass(eq=False)
class CargoWorkspace(Fact):
    """`[workspace]` of a manifest."""

    version: Located | None
    members: tuple[Located, ...]
    excluded: tuple[Located, ...]


@dataclass(eq=False)
class CargoDependency(Fact):
    """One entry of a dependency, patch or replace table."""

    name: str
    table: str
    at: Located
    requirement: Located | None = None
    path: Located | None = None
    git: Located | None = None
    repository: str | None = None
    references: tuple[tuple[str, Located], ...] = ()
    inherits: bool = False


@dataclass(eq=False)
class LockPackage(Fact):
    """One package of a Cargo.lock, uv.lock or poetry.lock."""

    name: str
    version: Located
    at: Located
    ecosystem: Literal["cargo", "python"]
    source: Literal["own", "registry", "git", "other"]
    repository: str | None = None
    revision: Located | None = None


@dataclass(eq=False)
class UnusedPatch(Fact):
    """A `[[patch.unused]]` entry of a Cargo.lock."""

    name: str
    at: Located


@dataclass(eq=False)
class Project(Fact):
    """`[project]` (or poetry's table) of a pyproject.toml."""

    name: str
    at: Located
    version: Located | None
    dynamic: frozenset[str]
    backend: str
    requires_python: Located | None
    manifest: str | None = None


@dataclass(eq=False)
class Requirement(Fact):
    """One Python requirement of a manifest or a requirement file."""

    name: str
    at: Located
    specifier: str
    marker: str
    hashed: bool
    url: bool
    # The comment lines below it: pip-compile writes where a line comes from.
    via: tuple[str, ...] = ()


@dataclass(eq=False)
class RequirementFile(Fact):
    """A requirement file: what it includes and whether a tool compiled it."""

    # Whether its name alone tells what it is, or only what includes it.
    named: bool
    includes: tuple[tuple[str, Located], ...]
    compiled_from: tuple[str, ...]


@dataclass(eq=False)
class FileReference(Fact):
    """The file names another one (relative to the root) that must exist."""

    target: str
    at: Span
    what: str


@dataclass(eq=False)
class Override(Fact):
    """A setting that takes the decision away from the pins."""

    what: Literal["toolchain", "cargo-source", "frozen-lock", "unlocked-build"]
    at: Located
    message: str


@dataclass(eq=False)
class ArgDefault(Fact):
    """An ARG of a Dockerfile that has a default; `stage` is None before the first FROM."""

    name: str
    at: Located
    stage: int | None


@dataclass(eq=False)
class ArgOutOfScope(Fact):
    """A global ARG used in a stage that does not declare it."""

    name: str
    at: Span
    declared: Span


@dataclass(eq=False)
class CacheMount(Fact):
    """A cache mount; `reason` says why nothing will ever be found in it, if that is so."""

    target: str
    at: Span
    reason: str | None


@dataclass(eq=False)
class ToolchainFile(Fact):
    """A file that chooses a toolchain for its folder; `channel` is None where it chooses none."""

    toolchain: Literal["rust", "python"]
    channel: Located | None
    legacy: bool = False


@dataclass(eq=False)
class NamedContext(Fact):
    """A build context that Dockerfiles may use like an image, by this name."""

    name: str


@dataclass(eq=False)
class LossyNumber(Fact):
    """A YAML number that stands where a version is meant."""

    at: Located
    becomes: str


@dataclass(eq=False)
class Mention(Fact):
    """A feature or an import name (for retired names)."""

    what: Literal["feature", "import"]
    name: str
    at: Located


@dataclass(eq=False)
class Reading:
    """Everything that one reader found in one file."""

    document: Document
    claims: list[Claim] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


_SCHEME = re.compile(r"^(?:[a-z]+\+)?[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SCP = re.compile(r"^(?:[^@/\s]+@)?([^:/\s]+):(?!\d+/)(.+)$")


def repository_id(url: str) -> str:
    """Return what identifies a git repository: host in lower case and path.

    Scheme, user, `.git`, a trailing slash, query and fragment do not matter; `git@host:path` is
    the same place as `ssh://git@host/path`.
    """
    from urllib.parse import unquote

    text = url.strip().removeprefix("git+")
    text = re.split(r"[?#]", text, maxsplit=1)[0]
    if match := _SCHEME.match(text):
        rest = text[match.end() :]
        host, _, path = rest.partition("/")
        host = host.rpartition("@")[2].lower()
        host = re.sub(r":(?:22|80|443)$", "", host)
    elif match := _SCP.match(text):
        host, path = match[1].lower(), match[2]
    else:
        host, path = "", text
    path = unquote(path).strip("/").removesuffix(".git").rstrip("/")
    return f"{host}/{path}" if host else path


def distribution_id(name: str) -> str:
    """Return the normal form of a Python distribution name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def crate_id(name: str) -> str:
    """Return a crate name with the two spellings of a dash made one."""
    return name.replace("_", "-")


_HUB = re.compile(rf"^(?:{UNRESOLVED}/?|(?:index\.|registry-1\.)?docker\.io/)?(?:library/)?")


def image_id(name: str) -> str:
    """Return an image name without the default registry and namespace."""
    return _HUB.sub("", name)
