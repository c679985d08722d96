"""Dockerfiles as instructions: continuations, comments, heredocs, the escape directive, Jinja."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.pins.text import UNRESOLVED, Document, Span, Traced, join

_DIRECTIVE = re.compile(r"#\s*([A-Za-z]+)\s*=\s*(\S.*?)\s*")
_KEYWORD = re.compile(r"\s*([A-Za-z]+)(?=\s|$)")
_HEREDOC = re.compile(r"<<-?[ \t]*[\"']?([A-Za-z_][A-Za-z0-9_]*)[\"']?")
_FLAG = re.compile(r"\s*--([a-z-]+)(?:=((?:\"[^\"]*\"|\S)*))?(?=\s|$)")
# `${#name}` is the shell's length of a variable, not a comment of Jinja.
_JINJA = re.compile(r"(?<!\$)\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_SET = re.compile(r"\{%-?\s*set\s+(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')\s*-?%\}")
_OUTPUT = re.compile(r"\{\{-?\s*(\w+)(?:\s*\|[^}]*)?\s*-?\}\}")


@dataclass(slots=True)
class Instruction:
    """One instruction: its keyword, flags and the rest (heredoc bodies included for RUN)."""

    keyword: str
    flags: list[tuple[str, Traced]]
    body: Traced
    heredoc: bool


@dataclass(slots=True)
class Dockerfile:
    """A parsed file; `blank` are empty lines inside continuations."""

    instructions: list[Instruction]
    blank: list[Span]
    syntax: Traced | None


def parse(document: Document) -> Dockerfile:
    """Split a Dockerfile into instructions."""
    return _Splitter(document, _render(document)).run()


def _render(document: Document) -> Traced:
    """Read a Jinja template leniently: every branch is kept, every expression is unknown.

    A variable that the template itself sets to a literal has that value.
    """
    source = document.whole()
    if not _JINJA.search(source.text):
        return source
    known: dict[str, Traced] = {}
    for match in _SET.finditer(source.text):
        known[match[1]] = source.group(match, 2 if match[2] is not None else 3)
    parts = []
    at = 0
    for match in _JINJA.finditer(source.text):
        parts.append(source[at : match.start()])
        at = match.end()
        output = _OUTPUT.fullmatch(match[0])
        if match[0].startswith("{{"):
            unknown = Traced(UNRESOLVED, [source.at[match.start()]])
            parts.append(known.get(output[1], unknown) if output else unknown)
        else:
            blank = "".join(char if char == "\n" else " " for char in match[0])
            parts.append(Traced(blank, range(match.start(), match.end())))
    return join([*parts, source[at:]])


class _Splitter:
    def __init__(self, document: Document, source: Traced) -> None:
        self.document = document
        self.source = source
        self.escape = "\\"
        self.blank: list[Span] = []
        self.at = 0

    def line(self) -> Traced | None:
        """Return the next line without its end, and move on."""
        text = self.source.text
        if self.at >= len(text):
            return None
        stop = text.find("\n", self.at)
        stop = len(text) if stop < 0 else stop
        line = self.source[self.at : stop]
        self.at = stop + 1
        return line[:-1] if line.text.endswith("\r") else line

    def run(self) -> Dockerfile:
        syntax = self.directives()
        found = []
        while (line := self.line()) is not None:
            if line.text.strip() and not line.text.lstrip().startswith("#"):
                instruction = self.instruction(line)
                if instruction is not None:
                    found.append(instruction)
        return Dockerfile(found, self.blank, syntax)

    def directives(self) -> Traced | None:
        """Read the parser directives; they end at the first line that is none."""
        syntax = None
        while True:
            start = self.at
            line = self.line()
            match = _DIRECTIVE.fullmatch(line.text.strip()) if line is not None else None
            if (
                line is None
                or match is None
                or match[1].lower() not in ("syntax", "escape", "check")
            ):
                self.at = start
                return syntax
            if match[1].lower() == "escape" and match[2] in ("\\", "`"):
                self.escape = match[2]
            if match[1].lower() == "syntax":
                syntax = line.strip().group(match, 2)

    def instruction(self, line: Traced) -> Instruction | None:
        pieces = []
        following: Traced | None = line
        while following is not None:
            bare = following.text.rstrip()
            if not bare.endswith(self.escape):
                pieces.append(following)
                break
            pieces.append(following[: len(bare) - 1])
            following = self.continued()
        body = join(pieces)
        match = _KEYWORD.match(body.text)
        if match is None:
            return None
        if match[1].upper() == "ONBUILD":
            body = body[match.end() :]
            match = _KEYWORD.match(body.text)
        if match is None:
            return None
        keyword = match[1].upper()
        body = body[match.end() :]
        flags = []
        if keyword in ("RUN", "COPY", "ADD", "FROM", "HEALTHCHECK"):
            while flag := _FLAG.match(body.text):
                flags.append((flag[1], body.group(flag, 2) if flag[2] is not None else body[:0]))
                body = body[flag.end() :]
        heredoc = False
        if keyword in ("RUN", "COPY", "ADD"):
            for opened in _HEREDOC.finditer(body.text):
                if opened.start() and body.text[opened.start() - 1] == "<":
                    continue
                heredoc = True
                body = join([body, self.body(opened[1], "-" in opened[0][:3])])
        return Instruction(keyword, flags, body.strip(), heredoc)

    def continued(self) -> Traced | None:
        """Return the next line of a continuation: comments and blank lines are passed over."""
        while (line := self.line()) is not None:
            text = line.text.strip()
            if text.startswith("#"):
                continue
            if text:
                return line
            raw = self.document.text[line.anchor :].split("\n", 1)[0]
            if not raw.strip():
                self.blank.append(self.document.span(line.anchor, line.anchor))
        return None

    def body(self, name: str, dashed: bool) -> Traced:
        """Return a heredoc body, verbatim, with the line end before and the terminator after."""
        start = max(0, self.at - 1)
        while (line := self.line()) is not None:
            if (line.text.lstrip("\t") if dashed else line.text) == name:
                break
        return self.source[start : max(start, self.at)]
