"""Whether a claim agrees with a pin: the one place that knows what agreement means."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from harness.pins import versions
from harness.pins.config import DIGEST, Pin, Pins
from harness.pins.text import UNRESOLVED, Document, Located, Span
from harness.pins.tokens import Claim, image_id, repository_id

if TYPE_CHECKING:
    from harness.pins.repository import Repository

Status = Literal[
    "agrees",       # equal, or admitted
    "off",          # another exact value
    "excluded",     # a range or floor that does not admit the pin
    "short",        # an abbreviated revision
    "moving",       # a branch, a tag, latest: what it means changes
    "malformed",    # no value of its kind
    "elsewhere",    # another repository
    "undigested",   # the digest that the pin has is missing
    "unresolved",   # a variable that only the build knows
    "mention",      # a name without a value
]  # fmt: skip
What = Literal["version", "revision", "digest", "repository", "name"]

FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)
_SHORT = re.compile(r"[0-9a-f]{7,39}", re.IGNORECASE)
_IMAGE = re.compile(r"(?P<name>[^\s@]*?[^\s@/:])(?::(?P<tag>[\w.-]+))?(?:@(?P<digest>\S+))?")
_URL = re.compile(r"(?P<lead>[a-z+]+://[^/]*/|[^:/]+:/?)(?P<path>.+?)(?P<tail>(?:\.git)?/?)")
# `cuda>=13.0`, as NVIDIA_REQUIRE_CUDA has it.
_CONSTRAINT = re.compile(r"[a-z]+((?:[<>]=?|[=!]=)[\d.]+)")
_CHANNELS = frozenset({"stable", "beta", "nightly", "latest", "edge", "main", "master", "head"})


class Judgement(NamedTuple):
    """One claim held against one pin (None: nothing pins it)."""

    document: Document
    claim: Claim
    pin: Pin | None
    what: What
    status: Status
    at: Located
    expected: str | None = None
    new: str | None = None


class Judge:
    """Holds every claim of a repository against its pins."""

    def __init__(self, pins: Pins) -> None:
        self.pins = pins

    @cached_property
    def index(self) -> dict[tuple[str, str], list[Pin]]:
        """The pins of each subject."""
        table: dict[tuple[str, str], list[Pin]] = {}
        for pin in self.pins.pins:
            for kind, name in pin.subjects():
                if kind == "action":
                    name = "/".join(name.split("/")[:2])
                table.setdefault((kind, name), []).append(pin)
        return table

    def pins_of(self, claim: Claim) -> list[Pin]:
        """Return the pins that a claim is about."""
        found = list(self.index.get((claim.kind, claim.name), ()))
        if claim.repository is not None:
            for pin in self.index.get(("repository", claim.repository), ()):
                if pin not in found:
                    found.append(pin)
        return found

    def judge(self, document: Document, claim: Claim) -> Judgement:
        """Hold a claim against its pins; where several name it, agreeing with one is enough."""
        all_of_them = [_against(document, claim, pin) for pin in self.pins_of(claim)]
        for judgement in all_of_them:
            if judgement.status == "agrees":
                return judgement
        # A pin that says nothing about this value does not excuse it from another one.
        telling = [judgement for judgement in all_of_them if judgement.status != "mention"]
        return next(iter(telling or all_of_them), _unpinned(document, claim))


def judge_all(repository: Repository) -> list[Judgement]:
    """Judge every claim of a repository, each place once."""
    judge = Judge(repository.pins)
    found: dict[tuple[object, ...], Judgement] = {}
    for document, claim in repository.claims():
        judgement = judge.judge(document, claim)
        pin = judgement.pin.name if judgement.pin else claim.name
        key = (document.path, judgement.at.span, judgement.what, pin, judgement.status)
        found.setdefault(key, judgement)
    return _without_transitive(list(found.values()))


def _without_transitive(judgements: list[Judgement]) -> list[Judgement]:
    """A lock may hold other versions of a pinned registry package for other dependants."""
    good = {
        (j.document.path, j.claim.kind, j.claim.name)
        for j in judgements
        if j.claim.derived and j.claim.locked and j.status == "agrees" and j.pin is not None
    }
    return [
        j
        for j in judgements
        if not (
            j.status == "off"
            and j.claim.locked
            and j.claim.kind == "crate"
            and (j.document.path, j.claim.kind, j.claim.name) in good
        )
    ]


def _unpinned(document: Document, claim: Claim) -> Judgement:
    status: Status = "mention"
    what: What = "name"
    if UNRESOLVED in claim.text:
        status = "mention"
    elif claim.kind == "image" and claim.aspect == "tag":
        what = "version"
        status = "moving" if claim.digest is None and _moving_tag(claim) else "mention"
    elif claim.aspect == "revision" and claim.kind != "label":
        what = "revision"
        status = _revision_shape(claim.text, claim.ref)
        status = "mention" if status == "agrees" else status
    return Judgement(document, claim, None, what, status, claim.at)


def _moving_tag(claim: Claim) -> bool:
    return UNRESOLVED not in claim.tag and versions.is_moving_tag(claim.tag)


def _revision_shape(text: str, ref: str) -> Status:
    if FULL.fullmatch(text):
        return "agrees"
    if FULL.match(text) and len(text) > 40:
        return "malformed"
    if _SHORT.fullmatch(text) and ref not in ("branch", "tag"):
        return "short"
    return "moving"


class _Case(NamedTuple):
    """One claim and one pin, to be compared."""

    document: Document
    claim: Claim
    pin: Pin

    def result(
        self,
        what: What,
        status: Status,
        expected: str | None = None,
        new: str | None = None,
        at: Located | None = None,
    ) -> Judgement:
        at = at or self.claim.at
        return Judgement(self.document, self.claim, self.pin, what, status, at, expected, new)


def _against(document: Document, claim: Claim, pin: Pin) -> Judgement:
    case = _Case(document, claim, pin)
    text = claim.text
    if claim.aspect == "name":
        return case.result("name", "mention")
    if claim.aspect == "url":
        if pin.repository is None or claim.repository is None:
            return case.result("repository", "mention")
        url = pin.repository.text
        same = repository_id(url) == claim.repository
        status: Status = "agrees" if same else "elsewhere"
        return case.result("repository", status, url, None if same else _moved_url(text, url))
    if UNRESOLVED in text or UNRESOLVED in claim.tag:
        return case.result("version", "unresolved")
    if claim.aspect == "revision":
        return _revision(case, claim.text, pin)
    if claim.aspect == "digest":
        return _digest(case, claim, pin)
    if claim.aspect == "value":
        return _value(case, claim, pin)
    if pin.version is None:
        return _digest_of_tag(case, claim, pin)
    return _version(case, claim, pin, pin.version.text)


def _moved_url(old: str, pin: str) -> str | None:
    """Put the pin's path into a URL, scheme and user kept; None where the host differs too."""
    match = _URL.fullmatch(old)
    host, _, path = repository_id(pin).partition("/")
    if match is None or repository_id(old).partition("/")[0] != host:
        return None
    return f"{match['lead']}{path}{match['tail']}"


def _revision(case: _Case, text: str, pin: Pin) -> Judgement:
    if pin.revision is None:
        return _reference(case, text, pin)
    expected = pin.revision.text
    status = _revision_shape(text, case.claim.ref)
    if status == "agrees":
        status = "agrees" if text.lower() == expected else "off"
    new = expected if status in ("off", "short") else None
    return case.result("revision", status, expected, new)


def _reference(case: _Case, text: str, pin: Pin) -> Judgement:
    """A pin without revision: a tag that is a version is compared as one."""
    if pin.version is None or FULL.fullmatch(text):
        return case.result("revision", "mention")
    if versions.parse(text) is None:
        return case.result("revision", "moving", pin.version.text)
    agrees = versions.prefix_agrees(text, pin.version.text)
    new = versions.respell(text, pin.version.text, "plain")
    return case.result("version", "agrees" if agrees else "off", pin.version.text, new)


def _digest(case: _Case, claim: Claim, pin: Pin) -> Judgement:
    if pin.digest is None:
        return case.result("digest", "mention")
    expected = pin.digest.text
    if claim.text == expected:
        return case.result("digest", "agrees", expected)
    if not DIGEST.fullmatch(claim.text):
        return case.result("digest", "malformed", expected)
    if claim.platform and "$" not in claim.platform and UNRESOLVED not in claim.platform:
        # The digest of one architecture, which the pinned index lists: not decidable offline.
        return case.result("digest", "mention", expected)
    return case.result("digest", "off", expected, expected)


def _digest_of_tag(case: _Case, claim: Claim, pin: Pin) -> Judgement:
    if claim.kind != "image":
        return case.result("version", "mention")
    if pin.digest is not None and claim.digest is None:
        return case.result("digest", "undigested", pin.digest.text)
    moving = claim.digest is None and _moving_tag(claim)
    return case.result("version", "moving" if moving else "mention")


def _version(case: _Case, claim: Claim, pin: Pin, expected: str) -> Judgement:
    text = claim.text
    if claim.aspect == "range":
        cargo = claim.grammar == "semver"
        series = pin.toolchain is not None
        good = versions.admits_cargo(text, expected) if cargo else None
        good = good if cargo else versions.admits(text, expected, series=series)
        status: Status = "malformed" if good is None else "agrees" if good else "excluded"
        return case.result("version", status, expected)
    if claim.aspect == "floor":
        floor, least = versions.parse(text), versions.parse(expected)
        below = floor is not None and least is not None and least < floor
        bad = below and not versions.prefix_agrees(text, expected)
        return case.result("version", "excluded" if bad else "agrees", expected)
    if claim.aspect == "tag":
        return _tag(case, claim, pin, expected)
    agrees = versions.equal(text, expected)
    new = None if agrees else versions.respell(text, expected, claim.grammar)
    return case.result("version", "agrees" if agrees else "off", expected, new)


def _tag(case: _Case, claim: Claim, pin: Pin, expected: str) -> Judgement:
    text = claim.text
    if claim.kind == "toolchain" and text.split("-")[0] in _CHANNELS:
        return case.result("version", "moving", expected)
    if claim.kind == "image" and _moving_tag(claim):
        if claim.digest is None:
            return case.result("version", "moving", expected)
        return case.result("version", "mention", expected)
    if not versions.prefix_agrees(text, expected):
        new = versions.respell(text, expected, "plain")
        return case.result("version", "off", expected, new)
    if pin.digest is not None and claim.kind == "image" and claim.digest is None:
        return case.result("digest", "undigested", pin.digest.text)
    return case.result("version", "agrees", expected)


def _value(case: _Case, claim: Claim, pin: Pin) -> Judgement:
    """A build argument means whatever its pin can be compared with."""
    text = claim.text
    if pin.digest is not None and text.startswith("sha256:"):
        status: Status = "agrees" if text == pin.digest.text else "off"
        return case.result("digest", status, pin.digest.text, pin.digest.text)
    image = _IMAGE.fullmatch(text)
    if image is not None and image_id(image["name"]) in map(image_id, pin.images):
        return _image_value(case, claim, pin, image)
    wanted = _CONSTRAINT.fullmatch(text)
    if wanted is not None and pin.version is not None:
        good = versions.admits(wanted[1], pin.version.text)
        return case.result("version", "agrees" if good else "excluded", pin.version.text)
    # Seven digits and more are a revision cut short rather than a version.
    parsed = versions.parse(text) if not re.match(r"\d{7}", text) else None
    if pin.revision is not None and (pin.version is None or parsed is None):
        return _revision(case, text, pin)
    if pin.version is None:
        return case.result("version", "mention")
    expected = pin.version.text
    if parsed is None:
        return _tag_value(case, claim, pin, expected)
    loose = bool(pin.toolchain or pin.images)
    agrees = versions.prefix_agrees(text, expected) if loose else versions.equal(text, expected)
    grammar = "plain" if loose else "semver" if "-" in text else "pep440"
    new = None if agrees else versions.respell(text, expected, grammar)
    return case.result("version", "agrees" if agrees else "off", expected, new)


def _tag_value(case: _Case, claim: Claim, pin: Pin, expected: str) -> Judgement:
    """A build argument that holds an image tag (`3.12-slim`) or no version at all."""
    text = claim.text
    found = versions.tag_version(text)
    if found is None or not pin.images:
        moving = text.lower() in _CHANNELS or versions.is_moving_tag(text)
        return case.result("version", "moving" if moving else "off", expected)
    version = text[slice(*found)]
    if versions.prefix_agrees(version, expected):
        return case.result("version", "agrees", expected)
    new = versions.respell(version, expected, "plain")
    return case.result("version", "off", expected, new, _part(claim.at, *found))


def _image_value(case: _Case, claim: Claim, pin: Pin, image: re.Match[str]) -> Judgement:
    """A build argument that holds a whole image reference."""
    if image["digest"] and pin.digest is not None and image["digest"] != pin.digest.text:
        at = _part(claim.at, *image.span("digest"))
        return case.result("digest", "off", pin.digest.text, pin.digest.text, at)
    tag = image["tag"] or ""
    if not image["digest"] and versions.is_moving_tag(tag):
        return case.result("version", "moving")
    if not image["digest"] and pin.digest is not None:
        return case.result("digest", "undigested", pin.digest.text)
    found = versions.tag_version(tag)
    if pin.version is None or found is None:
        return case.result("version", "mention")
    expected, version = pin.version.text, tag[slice(*found)]
    if versions.prefix_agrees(version, expected):
        return case.result("version", "agrees", expected)
    start = image.start("tag") + found[0]
    new = versions.respell(version, expected, "plain")
    return case.result(
        "version", "off", expected, new, _part(claim.at, start, start + len(version))
    )


def _part(at: Located, start: int, end: int) -> Located:
    """Return a part of a located ASCII value."""
    if not at.exact or at.span.end - at.span.start != len(at.text):
        return Located(at.text[start:end], at.span, exact=False)
    return Located(at.text[start:end], Span(at.span.start + start, at.span.start + end))
