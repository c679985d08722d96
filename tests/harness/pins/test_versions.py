"""Versions: PEP 440, SemVer, Cargo requirements and image tags compared as one thing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from harness.pins import versions

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


@pytest.mark.parametrize(
    ("claim", "pin", "same"),
    [
        ("1.0.0-rc.1", "1.0.0rc1", True),
        ("v0.2.0-rc1", "0.2.0rc1", True),
        ("1.1.0-dev20260423", "1.1.0.dev20260423", True),
        ("1.0.0-alpha", "1.0.0a0", True),
        ("2026.01.05", "2026.1.5", True),
        ("1.0", "1.0.0", True),
        ("2.7.0", "2.7.0+cu128", True),
        ("2.7.0+cu128", "2.7.0", False),
        ("3.9", "3.10", False),
        ("1.0.0-rc.1", "1.0.0", False),
        ("0.13.0-1", "0.13.0", False),
    ],
)
def test_equal(claim: str, pin: str, same: bool) -> None:
    assert versions.equal(claim, pin) is same


@pytest.mark.parametrize(
    ("requirement", "pin", "good"),
    [
        ("0.13.0", "0.13.5", True),
        ("0.13", "0.14.0", False),
        ("1", "1.9.0", True),
        ("1", "2.0.0", False),
        ("^0.0.3", "0.0.4", False),
        ("^0.0", "0.0.9", True),
        ("~1.2.3", "1.2.9", True),
        ("~1.2.3", "1.3.0", False),
        ("~1", "1.9.0", True),
        ("=1.2", "1.2.9", True),
        ("=1.2.3", "1.2.4", False),
        (">=1.2, <1.5", "1.4.9", True),
        (">=1.2, <1.5", "1.5.0", False),
        (">1.2", "1.2.9", False),
        (">1.2", "1.3.0", True),
        ("<=1.2", "1.2.9", True),
        ("1.*", "1.9.0", True),
        ("*", "9.9.9", True),
        ("0.13.0", "0.13.0rc1", False),
        ("=0.13.0-rc.1", "0.13.0rc1", True),
        ("0.13.0-rc.1", "0.13.0rc2", True),
        (">=0.12, <0.13", "0.13.0rc1", False),
        ("not a version", "1.0.0", None),
    ],
)
def test_cargo_requirements(requirement: str, pin: str, good: bool | None) -> None:
    assert versions.admits_cargo(requirement, pin) is good


@pytest.mark.parametrize(
    ("specifier", "pin", "good"),
    [
        (">=0.12,<1", "0.13.0", True),
        ("~=0.12.0", "0.13.0", False),
        ("==0.13.*", "0.13.7", True),
        ("!=0.13.0", "0.13.0", False),
        (">=0.13.0rc1", "0.13.0rc1", True),
        ("^0.13", "0.13.9", True),
        ("^0.12", "0.13.0", False),
        ("~0.13", "0.13.9", True),
        ("*", "1", True),
        ("<>1", "1", None),
    ],
)
def test_specifiers(specifier: str, pin: str, good: bool | None) -> None:
    assert versions.admits(specifier, pin) is good


def test_a_series_is_admitted_by_any_member() -> None:
    assert versions.admits(">=3.12.1", "3.12") is False
    assert versions.admits(">=3.12.1", "3.12", series=True) is True
    assert versions.admits(">=3.13", "3.12", series=True) is False


@pytest.mark.parametrize(
    ("claim", "pin", "good"),
    [
        ("1.95", "1.95.0", True),
        ("1.95.0", "1.95.0", True),
        ("3.12.8", "3.12", True),
        ("1.9", "1.95.0", False),
        ("3.1", "3.10", False),
        ("1.95.1", "1.95.0", False),
        ("1.95.0-rc.1", "1.95.0", False),
        ("stable", "1.95.0", False),
    ],
)
def test_prefixes_by_components(claim: str, pin: str, good: bool) -> None:
    assert versions.prefix_agrees(claim, pin) is good


@pytest.mark.parametrize(
    ("tag", "version", "moves"),
    [
        ("3.12-slim", "3.12", False),
        ("1.95-slim-bookworm", "1.95", False),
        ("v1.2.3", "1.2.3", False),
        ("3.13-rc", "3.13", False),
        ("3.13.0rc1-slim", "3.13.0rc1", False),
        ("12.4.1-devel-ubuntu22.04", "12.4.1", False),
        ("bookworm-20240211-slim", None, False),
        ("sha-0123abc", None, False),
        ("8u392-jre", None, False),
        ("latest", None, True),
        ("", None, True),
        ("stable", None, True),
        ("edge", None, True),
        ("main", None, True),
        ("bookworm-slim", None, True),
        ("lts-alpine3.18", None, True),
    ],
)
def test_tags(tag: str, version: str | None, moves: bool) -> None:
    found = versions.tag_version(tag)
    assert (tag[slice(*found)] if found else None) == version
    assert versions.is_moving_tag(tag) is moves


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("0.13.0", "0.13.0"),
        ("0.13.0-rc.1", "0.13.0rc1"),
        ("0.13.0-dev.20261130", "0.13.0.dev20261130"),
        ("0.13.0-alpha.2+build.5", "0.13.0a2+build.5"),
        ("0.13.0-1", None),
        ("0.13.0-nightly.1", None),
        ("0.13.0-post.1", None),
        ("0.13", None),
    ],
)
def test_semver_as_python_spells_it(text: str, python: str | None) -> None:
    assert versions.pep440_of_semver(text) == python


@pytest.mark.parametrize(
    ("old", "pin", "grammar", "new"),
    [
        ("0.12.0", "0.13.0rc1", "semver", "0.13.0-rc.1"),
        ("0.12.0-rc.1", "0.13.0", "semver", "0.13.0"),
        ("0.12.0", "0.13.0-rc.1", "pep440", "0.13.0rc1"),
        ("v0.12.0", "0.13.0", "pep440", "v0.13.0"),
        ("1.94", "1.95.0", "plain", "1.95"),
        ("v4", "4.2.2", "plain", "v4"),
        ("1.94.0", "1.95.0", "plain", "1.95.0"),
        # What would be lost on the way back.
        ("3.11.8", "3.12", "plain", None),
        ("0.12", "0.13.1", "pep440", None),
        ("0.12.0-rc.1", "0.13.0", "pep440", None),
        ("0.12.0", "0.13.0.post1", "semver", None),
        ("main", "0.13.0", "plain", None),
    ],
)
def test_spellings_are_kept(old: str, pin: str, grammar: str, new: str | None) -> None:
    assert versions.respell(old, pin, grammar) == new


RELEASES = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
TAILS = st.sampled_from(["", "a1", "b2", "rc3", ".dev20261130", "rc1.dev4"])
VERSIONS = st.builds(lambda r, t: ".".join(map(str, r)) + t, RELEASES, TAILS)


@given(VERSIONS, VERSIONS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_there_and_back(left: str, right: str) -> None:
    for grammar in ("pep440", "semver"):
        start = left if grammar == "pep440" else versions.spell_semver(Version(left))
        assert start is not None
        there = versions.respell(start, right, grammar)
        assert there is not None
        assert versions.equal(there, right)
        assert versions.respell(there, left, grammar) == start


@given(VERSIONS, VERSIONS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_both_spellings_sort_alike(left: str, right: str) -> None:
    spelled = [versions.spell_semver(Version(text)) for text in (left, right)]
    parsed = [versions.parse(str(text)) for text in spelled]
    assert parsed == [Version(left), Version(right)]
