"""Python requirement strings (PEP 508, pip's extensions) with positions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.pins.text import UNRESOLVED, Traced

_NAME = re.compile(
    r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([A-Za-z0-9._,\s-]*)\])?\s*"
)
_CLAUSE = re.compile(rf"\s*(===|==|~=|!=|<=|>=|<|>)\s*([A-Za-z0-9._*+!{UNRESOLVED}-]+)\s*")
_VCS = re.compile(r"(?:git|hg|svn|bzr)\+")


@dataclass(slots=True)
class Parsed:
    """One requirement; `clauses` are (operator, version)."""

    name: Traced
    clauses: list[tuple[str, Traced]]
    specifier: Traced
    url: Traced | None
    marker: str

    def exact(self) -> Traced | None:
        """Return the version of an exact requirement (`==1.2`, no wildcard)."""
        if len(self.clauses) == 1 and self.clauses[0][0] in ("==", "==="):
            version = self.clauses[0][1]
            return None if "*" in version.text else version
        return None


def parse(source: Traced) -> Parsed | None:
    """Parse one requirement; None where it is none."""
    match = _NAME.match(source.text)
    if match is None:
        return None
    name = source.group(match, 1)
    rest = source[match.end() :]
    if rest.text.startswith("@"):
        url, marker = _split_url(rest[1:].strip())
        return Parsed(name, [], rest[:0], url, marker)
    body, marker = _split_marker(rest)
    body = body.strip()
    if body.text.startswith("(") and body.text.endswith(")"):
        body = body[1:-1].strip()
    clauses = []
    at = 0
    while at < len(body.text):
        clause = _CLAUSE.match(body.text, at)
        if clause is None:
            return None
        clauses.append((clause[1], body.group(clause, 2)))
        at = clause.end()
        if at < len(body.text):
            if body.text[at] != ",":
                return None
            at += 1
    return Parsed(name, clauses, body, None, marker)


def _split_marker(rest: Traced) -> tuple[Traced, str]:
    at = rest.text.find(";")
    return (rest, "") if at < 0 else (rest[:at], rest.text[at + 1 :].strip())


def _split_url(rest: Traced) -> tuple[Traced, str]:
    """A URL ends at white space; a marker needs a space before its semicolon."""
    match = re.match(r"\S+", rest.text)
    url = rest[: match.end()] if match else rest[:0]
    tail = rest.text[len(url.text) :].strip()
    return url, tail.removeprefix(";").strip()


@dataclass(slots=True)
class GitUrl:
    """A `git+` URL in its parts."""

    url: Traced
    revision: Traced | None
    fragment: str

    @property
    def egg(self) -> str | None:
        """The distribution named in `#egg=`."""
        match = re.search(r"(?:^|&)egg=([A-Za-z0-9._-]+)", self.fragment)
        return match[1] if match else None


def git_url(url: Traced) -> GitUrl | None:
    """Split a `git+…@REV#egg=…` URL; None for every other kind of URL."""
    if not url.text.startswith("git+"):
        return None
    body = url[4:]
    at = body.text.find("#")
    fragment = body.text[at + 1 :] if at >= 0 else ""
    if at >= 0:
        body = body[:at]
    scheme = re.match(r"[a-z][a-z0-9+.-]*://[^/]*/?", body.text)
    start = scheme.end() if scheme else body.text.find(":") + 1
    at = body.text.rfind("@")
    if at < start:
        return GitUrl(body, None, fragment)
    return GitUrl(body[:at], body[at + 1 :], fragment)


def is_vcs(url: str) -> bool:
    """Say whether a URL names a version control system."""
    return _VCS.match(url) is not None
