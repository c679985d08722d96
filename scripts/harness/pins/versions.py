"""One grammar for versions: PEP 440, SemVer and tag spellings compared as one thing."""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_TAG = re.compile(
    r"v?(\d+(?:\.\d+)*(?:[-.]?(?:a|b|rc|alpha|beta|dev|pre)[-.]?\d+)?)(?=$|[-_+@])", re.IGNORECASE
)
_SHA = re.compile(r"(?:sha-?|g)?[0-9a-f]{7,64}")
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?"
)
_COMPARATOR = re.compile(
    r"\s*(\^|~|=|>=|<=|>|<|)\s*v?(\d+|\*|x|X)(?:\.(\d+|\*|x|X))?(?:\.(\d+|\*|x|X))?"
    r"(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?\s*"
)
_PRE = {"a": "alpha", "b": "beta", "rc": "rc"}


@lru_cache(maxsize=4096)
def parse(text: str) -> Version | None:
    """Return the version that `text` spells (a leading `v` is allowed), or None."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def equal(claim: str, pin: str) -> bool:
    """Say whether two exact spellings mean one version; a claim without local part admits any."""
    left, right = parse(claim), parse(pin)
    if left is None or right is None:
        return claim == pin
    return left == right or (left.local is None and left == Version(right.public))


def prefix_agrees(claim: str, pin: str) -> bool:
    """Say whether one of two versions is a prefix of the other by components."""
    left, right = parse(claim), parse(pin)
    if left is None or right is None:
        return False
    shared = min(len(left.release), len(right.release))
    if left.release[:shared] != right.release[:shared]:
        return False
    tail = (left.pre, left.dev, left.post)
    if len(left.release) < len(right.release) and tail == (None, None, None):
        return True
    return tail == (right.pre, right.dev, right.post)


def admits(specifier: str, pin: str, *, series: bool = False) -> bool | None:
    """Say whether a PEP 440 specifier admits the pin; None where it is no specifier.

    Args:
        specifier: For example `>=0.12,<1`; poetry's `^0.12` and `~0.12` are understood too.
        pin: The pinned version.
        series: The pin names a series (3.12): any member of it will do.
    """
    parsed = parse(pin)
    if parsed is None:
        return None
    text = specifier.strip()
    if text in ("", "*"):
        return True
    if re.match(r"\^|~[^=]|\d", text):
        return admits_cargo(text, pin, bare="=" if text[0].isdigit() else "^")
    try:
        parts = SpecifierSet(text)
    except InvalidSpecifier:
        return None
    candidates = [parsed]
    if series:
        candidates.append(Version(f"{parsed.public}.9999"))
    return any(parts.contains(candidate, prereleases=True) for candidate in candidates)


def admits_cargo(requirement: str, pin: str, *, bare: str = "^") -> bool | None:
    """Say whether a Cargo requirement admits the pin; None where it is no requirement."""
    version = parse(pin)
    if version is None:
        return None
    same_release = False
    for part in requirement.split(","):
        match = _COMPARATOR.fullmatch(part)
        if match is None:
            return None
        numbers = [int(n) for n in match.groups()[1:4] if n and n.isdigit()]
        pre = match[5] or ""
        if not _comparator(match[1] or bare, numbers, pre, version):
            return False
        if pre and _padded(Version(version.base_version)) == tuple(numbers):
            same_release = True
    # Cargo offers a pre-release only to a comparator that names one of the same release.
    return same_release or not (version.is_prerelease)


def _padded(version: Version) -> tuple[int, ...]:
    return (*version.release, 0, 0, 0)[:3]


def _comparator(operator: str, numbers: list[int], pre: str, version: Version) -> bool:
    if not numbers:
        return True
    low = parse(".".join(map(str, numbers)) + (f"-{pre}" if pre else ""))
    if low is None:
        return False
    here = Version(version.public)
    bumped = _bump(numbers, len(numbers) - 1)
    if operator == "=":
        return here == low if len(numbers) == 3 else low <= here and _below(here, bumped)
    if operator == ">=":
        return here >= low
    if operator == "<":
        return here < low and not (
            here.is_prerelease and not pre and _padded(here) == _three(numbers)
        )
    if operator == ">":
        return here > low if len(numbers) == 3 else not _below(here, bumped)
    if operator == "<=":
        return here <= low if len(numbers) == 3 else _below(here, bumped)
    if operator == "~":
        return here >= low and _below(here, _bump(numbers, min(1, len(numbers) - 1)))
    significant = next((i for i, n in enumerate(numbers) if n), len(numbers) - 1)
    return here >= low and _below(here, _bump(numbers, significant))


def _three(numbers: list[int]) -> tuple[int, ...]:
    return (*numbers, 0, 0, 0)[:3]


def _bump(numbers: list[int], index: int) -> tuple[int, ...]:
    return (*numbers[:index], numbers[index] + 1)


def _below(version: Version, release: tuple[int, ...]) -> bool:
    return _padded(version) < _three(list(release))


def is_exact_cargo(requirement: str) -> str | None:
    """Return the version of an exact Cargo requirement (`=1.2.3`), or None."""
    match = _COMPARATOR.fullmatch(requirement)
    if match is None or match[1] != "=" or not all((match[i] or "*").isdigit() for i in (2, 3, 4)):
        return None
    return requirement.split("=", 1)[1].strip()


def tag_version(tag: str) -> tuple[int, int] | None:
    """Return where in an image tag its version stands: (start, end), or None."""
    match = _TAG.match(tag)
    if match is None:
        return None
    return match.span(1)


def is_moving_tag(tag: str) -> bool:
    """Say whether an image tag names no version, date or commit."""
    if not tag or _SHA.fullmatch(tag):
        return not tag
    return not any(re.match(r"v?\d", part) for part in re.split(r"[-_]", tag))


def pep440_of_semver(text: str) -> str | None:
    """Return the PEP 440 spelling of a SemVer version, or None where it has none.

    A SemVer pre-release may only become a PEP 440 pre- or development release: `0.13.0-1` would
    turn into a post-release, which sorts on the other side of 0.13.0.
    """
    match = _SEMVER.fullmatch(text)
    version = parse(text)
    if match is None or version is None:
        return None
    if match[4] and (version.post is not None or not version.is_prerelease):
        return None
    return str(version)


def spell_semver(version: Version) -> str | None:
    """Return the SemVer spelling (`0.13.0-rc.1`, `0.13.0-dev.3`), or None where it has none."""
    if version.post is not None or version.epoch or len(version.release) > 3:
        return None
    tail = []
    if version.pre is not None:
        tail.append(f"{_PRE[version.pre[0]]}.{version.pre[1]}")
    if version.dev is not None:
        tail.append(f"dev.{version.dev}")
    text = ".".join(map(str, _padded(version))) + ("-" + ".".join(tail) if tail else "")
    return f"{text}+{version.local}" if version.local else text


def respell(old: str, pin: str, grammar: str) -> str | None:
    """Return `pin` spelled as `old` is spelled, or None where that can't be undone.

    A leading `v` and the number of components are kept; otherwise the normal form of the place's
    grammar is used. A spelling that would be lost on the way back is refused.
    """
    version, before = parse(pin), parse(old)
    if version is None or before is None:
        return None
    new = _spell(old, before, version, pin, grammar)
    after = parse(new) if new is not None else None
    if new is None or after is None or _spell(new, after, before, old, grammar) != old:
        return None
    return new


def _spell(style: str, styled: Version, version: Version, raw: str, grammar: str) -> str | None:
    lead = "v" if style.startswith("v") else ""
    if grammar == "semver":
        text = spell_semver(version)
        return None if text is None else lead + text
    if grammar == "pep440":
        count = max(len(styled.release), len(version.release))
        release = (*version.release, 0, 0, 0, 0, 0)[:count]
        return lead + _with_release(version, release)
    # Tags and toolchains: as many components as before, where the pin has that many.
    count = len(styled.release)
    if count > len(version.release):
        return None
    if count == len(version.release):
        return lead + raw.removeprefix("v")
    return lead + ".".join(map(str, version.release[:count]))


def _with_release(version: Version, release: tuple[int, ...]) -> str:
    return str(version).replace(".".join(map(str, version.release)), ".".join(map(str, release)), 1)
