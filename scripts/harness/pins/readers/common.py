"""What several readers have in common: git references, images, requirements."""

from __future__ import annotations

import posixpath
import re

from harness.pins import requirement, versions
from harness.pins.text import UNRESOLVED, Located, Traced
from harness.pins.tokens import (
    Aspect,
    Claim,
    FileReference,
    Kind,
    Reading,
    Requirement,
    crate_id,
    distribution_id,
    image_id,
    repository_id,
)

_WHEEL = re.compile(r"/?([A-Za-z0-9_.]+)-(\d[A-Za-z0-9_.!+]*)-[^/]*\.whl(?=$|[?#])")
_SDIST = re.compile(r"/?([A-Za-z0-9_.-]+?)-(\d[A-Za-z0-9_.!+]*)\.(?:tar\.gz|zip)(?=$|[?#])")
_IMAGE = re.compile(
    rf"(?P<name>(?:[^\s@/]+/)*[^\s@/:]*)(?::(?P<tag>[\w.{UNRESOLVED}-]*))?(?:@(?P<digest>[^\s@]+))?"
)


def relative(document_path: str, target: str) -> str | None:
    """Return `target` (relative to the file) relative to the root; None where it is outside."""
    if target.startswith("/") or re.match(r"[a-z][a-z0-9+.-]*:", target) or UNRESOLVED in target:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(document_path), target))
    return None if path.startswith("..") else path


def refer(reading: Reading, target: Traced, what: str, suffix: str = "") -> str | None:
    """Note that the file names another one; return its path relative to the root."""
    document = reading.document
    path = relative(document.path, target.text + suffix)
    if path is not None:
        reading.facts.append(FileReference(path, document.located(target).span, what))
    return path


def git_claims(
    reading: Reading,
    kind: Kind,
    name: str,
    url: Traced,
    revision: Traced | None,
    how: str,
    *,
    ref: str = "unknown",
    scope: str | None = None,
    derived: bool = False,
    locked: str | None = None,
) -> None:
    """Add the claims of one git reference: where the repository is, and which revision."""
    document = reading.document
    # A token in the place of the user may be unknown; host and path may not.
    identity = repository_id(url.text)
    repository = None if UNRESOLVED in identity else identity
    where = document.located(url)
    if revision is None:
        at, ref = Located("", where.span, exact=False), "default"
    else:
        at = document.located(revision)
    claim = Claim(
        kind, name, "revision", at, how, repository=repository, ref=ref,  # type: ignore[arg-type]
        scope=scope, derived=derived, locked=locked,
    )  # fmt: skip
    reading.claims.append(claim)
    if kind != "repository":
        reading.claims.append(
            Claim(kind, name, "url", where, how, repository=repository, derived=derived)
        )


def image_claims(reading: Reading, reference: Traced, how: str, platform: str = "") -> None:
    """Add the claims of one image reference: `name[:tag][@digest]`."""
    reference = reference.strip()
    match = _IMAGE.fullmatch(reference.text)
    if match is None or not match["name"].strip(UNRESOLVED) or reference.text == "scratch":
        return
    document = reading.document
    name = image_id(match["name"])
    digest = document.located(reference.group(match, "digest")) if match["digest"] else None
    if match["tag"] is None:
        tag = reference[match.end("name") : match.end("name")]
        at = Located("", document.located(reference.group(match, "name")).span, exact=False)
    else:
        tag = reference.group(match, "tag")
        version = versions.tag_version(tag.text)
        at = document.located(tag[slice(*version)] if version else tag)
    reading.claims.append(
        Claim("image", name, "tag", at, how, platform=platform, digest=digest, tag=tag.text)
    )
    if digest is not None:
        reading.claims.append(
            Claim("image", name, "digest", digest, how, platform=platform, tag=tag.text)
        )


def requirement_claims(
    reading: Reading,
    source: Traced,
    how: str,
    *,
    scope: str | None = None,
    locked: str | None = None,
    via: tuple[str, ...] = (),
    hashes: tuple[str, ...] = (),
) -> bool:
    """Add the claims of one Python requirement; False where the text is none."""
    source = source.strip()
    if requirement.is_vcs(source.text):
        return _vcs_claims(reading, None, source, how, scope)
    if _archive_claims(reading, source, how, scope):
        return True
    parsed = requirement.parse(source)
    if parsed is None:
        return False
    document = reading.document
    name = distribution_id(parsed.name.text)
    reading.facts.append(
        Requirement(
            name, document.located(parsed.name), parsed.specifier.text, parsed.marker,
            bool(hashes), parsed.url is not None, via,
        )
    )  # fmt: skip
    if parsed.url is not None:
        if requirement.is_vcs(parsed.url.text):
            return _vcs_claims(reading, name, parsed.url, how, scope)
        if not _archive_claims(reading, parsed.url, how, scope):
            at = document.located(parsed.name)
            reading.claims.append(Claim("distribution", name, "name", at, how))
        return True
    exact = parsed.exact()
    aspect: Aspect = "exact" if exact is not None else "range" if parsed.clauses else "name"
    value = exact or (parsed.specifier if parsed.clauses else parsed.name)
    reading.claims.append(
        Claim(
            "distribution", name, aspect, document.located(value), how, "pep440", locked=locked,
            scope=scope, marker=parsed.marker, derived=bool(via), content=" ".join(sorted(hashes)),
        )
    )  # fmt: skip
    return True


def _vcs_claims(
    reading: Reading, name: str | None, url: Traced, how: str, scope: str | None
) -> bool:
    parts = requirement.git_url(url)
    if parts is None:
        return True
    name = name or (distribution_id(parts.egg) if parts.egg else None)
    kind: Kind = "distribution" if name else "repository"
    git_claims(
        reading, kind, name or repository_id(parts.url.text), parts.url, parts.revision, how,
        scope=scope,
    )  # fmt: skip
    return True


def _archive_claims(reading: Reading, url: Traced, how: str, scope: str | None) -> bool:
    """A wheel or source archive carries name and version in its file name."""
    if not re.match(r"[a-z]+://|\.{0,2}/|[\w./-]+\.whl$", url.text):
        return False
    match = _WHEEL.search(url.text) or _SDIST.search(url.text)
    if match is not None:
        reading.claims.append(
            Claim(
                "distribution", distribution_id(match[1]), "exact",
                reading.document.located(url.group(match, 2)), how, "pep440",
                by_hand="it is the name of a file", scope=scope,
            )
        )  # fmt: skip
    return True


def crate_claim(
    reading: Reading, name: str, wanted: Traced, how: str, scope: str | None = None
) -> None:
    """Add the claim of a Cargo version requirement."""
    exact = versions.is_exact_cargo(wanted.text)
    if exact is not None:
        start = wanted.text.index(exact)
        wanted = wanted[start : start + len(exact)]
    at = reading.document.located(wanted)
    aspect: Aspect = "range" if exact is None else "exact"
    reading.claims.append(Claim("crate", crate_id(name), aspect, at, how, "semver", scope=scope))
