"""deps/pins.toml: what is pinned, and the policy of the checks.

The format is described in docs/pins.md and, for editors, in schema/pins.schema.json.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from harness.errors import InputError
from harness.pins import toml, versions, walk
from harness.pins.catalogue import CODES
from harness.pins.text import Document, Located, Traced
from harness.pins.tokens import crate_id, distribution_id, image_id, repository_id

DEFAULT_FILES = ("deps/pins.toml", "pins.toml")
SEVERITIES = ("off", "note", "warning", "error")
REVISION = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

PIN_LISTS = ("crates", "distributions", "images", "build-args", "actions")
PIN_STRINGS = ("name", "version", "revision", "repository", "digest", "toolchain")
_SOURCE_KEYS = ("git", "revision", "tree", "paths")
POLICY_KEYS = ("exclude", "unknown-revisions", "unpinned-refs", "retired", "require", "allow")
_ALLOW_KEYS = ("code", "file", "name", "reason")


class Pin(NamedTuple):
    """One pinned thing and the names under which it appears."""

    name: str
    at: Located
    version: Located | None = None
    revision: Located | None = None
    digest: Located | None = None
    repository: Located | None = None
    toolchain: str | None = None
    crates: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    build_args: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()

    def subjects(self) -> list[tuple[str, str]]:
        """Return (kind, name) of everything that the pin is about, names in normal form."""
        pairs = [("crate", crate_id(name)) for name in self.crates]
        pairs += [("distribution", distribution_id(name)) for name in self.distributions]
        pairs += [("image", image_id(name)) for name in self.images]
        pairs += [("build-arg", name) for name in self.build_args]
        pairs += [("action", name.lower()) for name in self.actions]
        if self.repository is not None:
            pairs.append(("repository", repository_id(self.repository.text)))
        if self.toolchain is not None:
            pairs.append(("toolchain", self.toolchain))
        return pairs


class Source(NamedTuple):
    """The revision that the wheels are built from (moved by `harness source bump`)."""

    git: str
    revision: Located
    tree: Located
    paths: tuple[Located, ...]


class Allow(NamedTuple):
    """A finding that is accepted, and why."""

    at: Located
    reason: str
    code: str | None = None
    file: str | None = None
    name: str | None = None


class Policy(NamedTuple):
    """How strict the checks are, and where."""

    exclude: tuple[Located, ...] = ()
    unknown_revisions: Literal["off", "note", "warning", "error"] = "note"
    unpinned_refs: Literal["off", "note", "warning", "error"] = "note"
    retired: tuple[Located, ...] = ()
    require: tuple[Located, ...] = ()
    allow: tuple[Allow, ...] = ()


class Pins(NamedTuple):
    """A loaded pins file."""

    document: Document
    pins: tuple[Pin, ...] = ()
    policy: Policy = Policy()
    source: Source | None = None

    def find(self, name: str) -> Pin:
        """Return the pin of that name."""
        for pin in self.pins:
            if pin.name == name:
                return pin
        known = [pin.name for pin in self.pins]
        raise InputError(
            f"no pin is named {name!r}; there are: {', '.join(known) or 'none'}",
            where=self.document.path,
            fix=_near(name, known),
        )


def pins_file(root: Path, named: Path | None) -> Path:
    """Return the pins file of a repository."""
    if named is not None:
        if not named.is_file():
            raise InputError("there is no such pins file", where=str(named))
        return named
    for name in DEFAULT_FILES:
        if (root / name).is_file():
            return root / name
    raise InputError(
        f"no pins file: neither {' nor '.join(DEFAULT_FILES)}",
        where=str(root),
        fix="name one with --pins FILE, or make one: harness pins discover > deps/pins.toml",
    )


def load(root: Path, named: Path | None = None) -> Pins:
    """Read and validate the pins file of the repository at `root`."""
    path = pins_file(root, named)
    try:
        shown = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        shown = str(path)
    return parse(Document(shown, path.read_bytes()))


def parse(document: Document) -> Pins:
    """Validate a pins file; every error names its line."""
    return _Loader(document).run()


def _near(word: str, known: list[str] | tuple[str, ...]) -> str | None:
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean {close[0]!r}?" if close else None


class _Loader:
    def __init__(self, document: Document) -> None:
        self.document = document

    def fail(self, message: str, at: int, fix: str | None = None) -> InputError:
        line, _ = self.document.position(self.document.byte(at))
        return InputError(message, where=f"{self.document.path}:{line}", fix=fix)

    def run(self) -> Pins:
        try:
            root = toml.parse(self.document)
        except toml.TomlError as error:
            raise self.fail(f"not TOML: {error.message}", error.offset) from error
        except UnicodeError as error:
            raise self.fail("not a text file", 0) from error
        self.known_keys(root, ("schema", "source", "pin", "policy"), "the pins file")
        schema = root.get("schema")
        if not isinstance(schema, toml.Scalar) or schema.raw.text != "1":
            at = root.keys_at["schema"].anchor if "schema" in root.keys_at else 0
            raise self.fail("schema must be 1", at, "put `schema = 1` on the first line")
        if "pin" in root and not isinstance(root["pin"], toml.Array):
            raise self.fail("pin must be an array of tables", root.keys_at["pin"].anchor, "[[pin]]")
        pins: list[Pin] = []
        for table in root.tables("pin"):
            pin = self.pin(table)
            if any(pin.name == other.name for other in pins):
                raise self.fail(f"two pins are named {pin.name!r}", table.at)
            pins.append(pin)
        return Pins(self.document, tuple(pins), self.policy(root), self.source(root))

    def known_keys(self, table: toml.Table, known: tuple[str, ...], what: str) -> None:
        for key, at in table.keys_at.items():
            if key not in known:
                fix = _near(key, known) or f"known keys: {', '.join(known)}"
                raise self.fail(f"unknown key {key!r} in {what}", at.anchor, fix)

    def string(self, table: toml.Table, key: str) -> Located | None:
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, Traced) or not value.text.strip():
            raise self.fail(f"{key} must be a string", table.keys_at[key].anchor)
        return self.document.located(value)

    def strings(self, table: toml.Table, key: str) -> tuple[Located, ...]:
        value = table.get(key)
        if value is None:
            return ()
        items = table.strings(key)
        if not isinstance(value, toml.Array) or len(items) != len(value):
            raise self.fail(f"{key} must be a list of strings", table.keys_at[key].anchor)
        return tuple(self.document.located(item) for item in items)

    def pin(self, table: toml.Table) -> Pin:
        self.known_keys(table, PIN_STRINGS + PIN_LISTS, "a pin")
        values = {key: self.string(table, key) for key in PIN_STRINGS}
        name = values["name"]
        if name is None:
            raise self.fail("a pin without a name", table.at, 'add `name = "…"`')
        if not (values["version"] or values["revision"] or values["digest"]):
            raise self.fail(f"pin {name.text!r} has no version, revision or digest", table.at)
        self.check(table, "version", lambda text: versions.parse(text) is not None, "a version")
        self.check(table, "revision", REVISION.fullmatch, "a full commit id of 40 hex digits")
        self.check(table, "digest", DIGEST.fullmatch, "sha256: and 64 hex digits")
        self.check(table, "toolchain", ("rust", "python").__contains__, "rust or python")
        if values["digest"] is not None and not table.get("images"):
            raise self.fail("a digest needs images", table.keys_at["digest"].anchor)
        names = {key: tuple(item.text for item in self.strings(table, key)) for key in PIN_LISTS}
        toolchain = values["toolchain"]
        return Pin(
            name=name.text,
            at=name,
            version=values["version"],
            revision=values["revision"],
            digest=values["digest"],
            repository=values["repository"],
            toolchain=toolchain.text if toolchain else None,
            crates=names["crates"],
            distributions=names["distributions"],
            images=names["images"],
            build_args=names["build-args"],
            actions=names["actions"],
        )

    def check(self, table: toml.Table, key: str, good: object, what: str) -> None:
        value = table.string(key)
        if value is not None and callable(good) and not good(value.text):
            raise self.fail(f"{key} {value.text!r} is not {what}", value.anchor)

    def source(self, root: toml.Table) -> Source | None:
        if "source" not in root:
            return None
        table = root.table("source")
        self.known_keys(table, _SOURCE_KEYS, "[source]")
        git, revision, tree = (self.string(table, key) for key in _SOURCE_KEYS[:3])
        if git is None or revision is None or tree is None:
            raise self.fail("[source] needs git, revision and tree", table.at)
        self.check(table, "revision", REVISION.fullmatch, "a full commit id of 40 hex digits")
        self.check(table, "tree", REVISION.fullmatch, "a tree id of 40 or 64 hex digits")
        return Source(git.text, revision, tree, self.strings(table, "paths"))

    def policy(self, root: toml.Table) -> Policy:
        table = root.table("policy")
        self.known_keys(table, POLICY_KEYS, "[policy]")
        for key in ("unknown-revisions", "unpinned-refs"):
            self.check(table, key, SEVERITIES.__contains__, f"one of {', '.join(SEVERITIES)}")
            self.string(table, key)
        for item in (*self.strings(table, "exclude"), *self.strings(table, "require")):
            self.glob(item)
        for path in self.strings(table, "require"):
            if PurePosixPath(path.text).is_absolute() or ".." in PurePosixPath(path.text).parts:
                at = table.keys_at["require"].anchor
                raise self.fail("require names paths inside the repository", at)
        allow = tuple(self.allow(item) for item in table.tables("allow"))
        unknown, unpinned = table.string("unknown-revisions"), table.string("unpinned-refs")
        return Policy(
            exclude=self.strings(table, "exclude"),
            unknown_revisions=unknown.text if unknown else "note",  # type: ignore[arg-type]
            unpinned_refs=unpinned.text if unpinned else "note",  # type: ignore[arg-type]
            retired=self.strings(table, "retired"),
            require=self.strings(table, "require"),
            allow=allow,
        )

    def glob(self, item: Located) -> None:
        try:
            walk.glob(item.text)
        except re.error as error:
            line, _ = self.document.position(item.span.start)
            raise InputError(
                f"{item.text!r} is not a glob: {error}", where=f"{self.document.path}:{line}"
            ) from error

    def allow(self, table: toml.Table) -> Allow:
        self.known_keys(table, _ALLOW_KEYS, "[[policy.allow]]")
        values = {key: self.string(table, key) for key in _ALLOW_KEYS}
        reason = values.pop("reason")
        if reason is None:
            raise self.fail("an allowance needs a reason", table.at, 'add `reason = "…"`')
        if not any(values.values()):
            raise self.fail("an allowance needs a code, a file or a name", table.at)
        if values["file"] is not None:
            self.glob(values["file"])
        code = table.string("code")
        if code is not None and code.text not in CODES:
            raise self.fail(f"no such code: {code.text}", code.anchor, _near(code.text, CODES))
        texts = {key: value.text if value else None for key, value in values.items()}
        first = next(value for value in values.values() if value is not None)
        return Allow(at=first, reason=reason.text, **texts)
