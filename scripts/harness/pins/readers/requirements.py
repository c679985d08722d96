"""pip requirement and constraint files, as pip reads them."""

from __future__ import annotations

import re

from harness.pins import requirement
from harness.pins.readers import common
from harness.pins.text import UNRESOLVED, Document, Traced, join
from harness.pins.tokens import Fault, Reading, RequirementFile

NAME = "requirements"
LOOKED_AT = 20
_NAMES = re.compile(r"(?:.*[-_.])?(?:requirements|constraints|overrides)(?:[-_.].*)?\.(?:txt|in)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
_INCLUDE = re.compile(r"(?:-r|--requirement|-c|--constraint)(?:\s+|=)?(\S+)")
_OPTION = re.compile(r"\s--?[A-Za-z]")
_HASH = re.compile(r"--hash[= ](\S*)")
_GOOD_HASH = re.compile(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_EDITABLE = re.compile(r"(?:-e|--editable)(?:\s+|=)(\S.*)")
# One line that only a requirement file has: an option, or a name with a version or a URL. It
# begins with the line end before it: a search for one character skips the rest of each line.
_TELLING = re.compile(
    r"\n[ \t]*(?:-[rce]\s|--[a-z-]+(?:[= ]|\r?$)|git\+"
    r"|[A-Za-z0-9][\w.-]*(?:\[[\w., \t-]*\])?[ \t]*(?:[=~!<>]=|[<>]|@[ \t]*\w+[+:]))",
    re.MULTILINE,
)
# The marks of an unresolved merge: a reason to complain, not to look away.
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")
_SOURCES = re.compile(r"#\s+(?:.*\s)?(?:pip-compile|pip compile)\s(.*)")


def is_named(path: str) -> bool:
    """Say whether the name alone tells that this is a requirement file."""
    folder, _, name = path.rpartition("/")
    return bool(_NAMES.fullmatch(name)) or folder.rpartition("/")[2] == "requirements"


def glance(document: Document) -> bool:
    """Say whether this is a file of requirements: its name tells, or its first lines do."""
    return is_named(document.path) or _sniff(document)


def _sniff(document: Document) -> bool:
    """Say whether all first lines could be requirements, and one must be."""
    if document.encoding == "utf-8":
        # No more is decoded than is looked at.
        data = document.data[document.bom :].split(b"\n", LOOKED_AT * 4)[: LOOKED_AT * 4]
        head = b"\n".join(data).decode("utf-8", "surrogateescape")
    else:
        head = "\n".join(document.text.split("\n", LOOKED_AT * 4)[: LOOKED_AT * 4])
    if "pip" in head and any(_SOURCES.match(line) for line in head.split("\n")):
        return True
    if not _TELLING.search(f"\n{head}"):
        return False
    lines = _logical_lines(Document(document.path, head.encode("utf-8", "replace")))
    telling = False
    for line, _ in lines[:LOOKED_AT]:
        body = _OPTION.split(_COMMENT.sub("", line.text), maxsplit=1)[0].strip()
        telling = telling or bool(_TELLING.match(f"\n{body}"))
        if body and not body.startswith(("-", "git+", ".", "/", *_CONFLICT)):
            whole = Traced(body, range(len(body)))
            if requirement.parse(_variables(whole)) is None:
                return False
    return telling


def read(reading: Reading) -> None:
    """Read one requirement file."""
    if glance(reading.document):
        read_as_requirements(reading)


def read_as_requirements(reading: Reading) -> None:
    """Read a file that is known to hold requirements (named or included)."""
    includes: list[tuple[str, object]] = []
    lines = _logical_lines(reading.document)
    hashed = [bool(_HASH.search(line.text)) for line, _ in lines]
    for line, via in lines:
        _line(reading, line, via, includes, any(hashed))
    sources: tuple[str, ...] = ()
    for match in _SOURCES.finditer(reading.document.text[:4000]):
        words = match[1].split()
        sources = tuple(word for word in words if not word.startswith("-"))
    reading.facts.append(RequirementFile(is_named(reading.document.path), tuple(includes), sources))  # type: ignore[arg-type]


def _logical_lines(document: Document) -> list[tuple[Traced, tuple[str, ...]]]:
    """Join continued lines as pip does: a comment line ends a continuation.

    Returns each line that is no comment, with what the comments below it name as its origin.
    """
    lines: list[tuple[Traced, list[str]]] = []
    pending: list[Traced] = []
    at = 0
    text = document.text
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line = document.traced(at, stop)
        if line.text.endswith("\r"):
            line = line[:-1]
        at = stop + 1
        comment = re.match(r"\s*#\s*(.*)", line.text)
        if comment is not None:
            if pending:
                lines.append((join(pending), []))
                pending = []
            if lines:
                _via(lines[-1][1], comment[1])
        elif line.text.endswith("\\"):
            pending.append(line[:-1])
        else:
            pending.append(line)
            lines.append((join(pending), []))
            pending = []
    if pending:
        lines.append((join(pending), []))
    return [(line, tuple(via)) for line, via in lines if line.text.strip()]


def _via(via: list[str], comment: str) -> None:
    if comment.startswith("via"):
        via.append("")
        comment = comment[3:].strip()
    if via and comment:
        via.append(comment)


def _line(
    reading: Reading,
    line: Traced,
    via: tuple[str, ...],
    includes: list[tuple[str, object]],
    hashes_required: bool,
) -> None:
    document = reading.document
    comment = _COMMENT.search(line.text)
    if comment is not None:
        line = line[: comment.start()]
    line = _variables(line.strip())
    if not line.text:
        return
    include = _INCLUDE.match(line.text)
    if include is not None:
        target = line.group(include, 1)
        path = common.refer(reading, target, "included file")
        if path is not None:
            includes.append((path, document.located(target)))
        return
    editable = _EDITABLE.match(line.text)
    if editable is not None:
        line = line.group(editable, 1)
        if not requirement.is_vcs(line.text):
            return
    hashes = list(_HASH.finditer(line.text))
    for match in hashes:
        _hash(reading, line.group(match, 1))
    if line.text.startswith("-"):
        if hashes:
            reading.faults.append(
                Fault(
                    "detached-hash", document.located(line).span,
                    "this hash belongs to no requirement: the line above does not end in '\\'",
                    fix="end the line above in a backslash, with no comment between",
                )
            )  # fmt: skip
        return
    option = _OPTION.search(line.text)
    if option is not None:
        line = line[: option.start()].strip()
    if hashes_required and not hashes and not requirement.is_vcs(line.text):
        reading.faults.append(
            Fault(
                "unhashed-requirement", document.located(line).span,
                "other requirements of this file have hashes, this one has none: pip refuses it",
                fix="lock the file again",
            )
        )  # fmt: skip
    locked = "a hash-locked line: its hashes belong to the version" if hashes else None
    known = common.requirement_claims(
        reading, line, "requirement", scope=document.path, locked=locked, via=via,
        hashes=tuple(match[1] for match in hashes),
    )  # fmt: skip
    if not known and UNRESOLVED not in line.text and not re.match(r"[./\w-]*/|\.", line.text):
        message = f"{line.text!r} is no requirement"
        reading.faults.append(Fault("malformed-requirement", document.located(line).span, message))


def _hash(reading: Reading, value: Traced) -> None:
    good = _GOOD_HASH.match(value.text)
    if _GOOD_HASH.fullmatch(value.text) or re.match(r"(?:md5|sha1|sha224):", value.text):
        return
    bad = value[good.end() :] if good is not None else value
    reading.faults.append(
        Fault(
            "malformed-hash", reading.document.located(bad).span,
            f"not a hash: {value.text[:90]!r}", fix="one --hash=sha256:<64 hex digits> each",
        )
    )  # fmt: skip


def _variables(line: Traced) -> Traced:
    """Put `UNRESOLVED` where pip would expand an environment variable."""
    parts = []
    at = 0
    for match in _VARIABLE.finditer(line.text):
        parts += [line[at : match.start()], Traced(UNRESOLVED, [line.at[match.start()]])]
        at = match.end()
    return join([*parts, line[at:]]) if parts else line
