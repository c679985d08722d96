"""Bake files: docker-bake.hcl and docker-bake.json."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from harness.pins import yaml
from harness.pins.readers import common, compose, labels
from harness.pins.text import UNRESOLVED, Document, Traced, join
from harness.pins.tokens import Claim, NamedContext, Reading, image_id

NAME = "bake"
MAX_DEPTH = 50
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|#[^\n]*|//[^\n]*|/\*.*?\*/)|(?P<line>\n)"
    r"|(?P<heredoc><<-?(?P<mark>\w+)[^\n]*\n)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<word>[A-Za-z_][\w.-]*)|(?P<other>.)',
    re.DOTALL,
)

Value: TypeAlias = "Traced | Block | list[Value] | None"


class HclError(ValueError):
    """The file is not HCL; `offset` is where (characters)."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(slots=True)
class Block:
    """A block or an object: its entries in order; `labels` are the words before the brace."""

    labels: tuple[str, ...]
    entries: list[tuple[str, Value]]

    def get(self, name: str) -> Value:
        """Return the last value under `name`."""
        return next((value for key, value in reversed(self.entries) if key == name), None)


def read(reading: Reading) -> None:
    """Read one bake file."""
    if reading.document.path.endswith(".json"):
        root = _of_json(reading.document, yaml.parse(reading.document, json=True), 0)
    else:
        root = _Hcl(reading.document).run()
    if not isinstance(root, Block):
        return
    variables: dict[str, Traced] = {}
    for name, block in _named(root, "variable"):
        default = block.get("default")
        if isinstance(default, Traced):
            variables[name] = default
            _value(reading, name, default, "variable")
    for name, block in _named(root, "target"):
        _target(reading, name, block, variables)


def _named(root: Block, kind: str) -> list[tuple[str, Block]]:
    """Return the blocks `kind "name" {…}` of HCL and the entries `kind.name` of JSON."""
    found = []
    for key, value in root.entries:
        if key != kind or not isinstance(value, Block):
            continue
        if value.labels:
            found.append((value.labels[0], value))
        else:
            found += [(name, inner) for name, inner in value.entries if isinstance(inner, Block)]
    return found


def _target(reading: Reading, name: str, block: Block, variables: dict[str, Traced]) -> None:
    for field, how in (("args", "arg"), ("labels", "label"), ("contexts", "context")):
        table = block.get(field)
        if not isinstance(table, Block):
            continue
        for key, value in table.entries:
            if field == "contexts":
                reading.facts.append(NamedContext(image_id(key)))
            text = _resolve(value, variables)
            if text is None or not text.text:
                continue
            if field == "args":
                _value(reading, key, text, f"target {name} {how}")
            elif field == "labels":
                labels.read_label(reading, key, text, f"target {name} {how}")
            elif text.text.startswith("docker-image://"):
                common.image_claims(reading, text[15:], f"target {name} {how}")
    context = _resolve(block.get("context"), variables)
    if context is not None and re.match(r"(?:https?|ssh|git)://|git@", context.text):
        compose.git_context(reading, context, f"target {name} context")


def _value(reading: Reading, name: str, value: Traced, how: str) -> None:
    if value.text:
        at = reading.document.located(value)
        reading.claims.append(Claim("build-arg", name, "value", at, how))


def _resolve(value: Value, variables: dict[str, Traced]) -> Traced | None:
    """Put variables into a string; a bare word is a variable, anything else is unknown."""
    if not isinstance(value, Traced):
        return None
    if value.text.startswith(UNRESOLVED):
        return variables.get(value.text[1:], Traced(UNRESOLVED, [value.anchor]))
    parts = []
    at = 0
    for match in re.finditer(r"\$\{\s*([^}]*?)\s*\}", value.text):
        parts.append(value[at : match.start()])
        at = match.end()
        unknown = Traced(UNRESOLVED, [value.anchor])
        parts.append(variables.get(match[1], unknown))
    return join([*parts, value[at:]]) if parts else value


def _of_json(document: Document, node: yaml.Node | None, depth: int) -> Value:
    if depth > MAX_DEPTH:
        return None
    text = yaml.scalar(document, node)
    if text is not None:
        return text
    pairs = [(key.value, _of_json(document, value, depth + 1)) for key, value in yaml.items(node)]
    return Block((), pairs)


class _Hcl:
    """The part of HCL that bake files use; expressions it does not know become unknown."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.tokens: list[tuple[str, Traced]] = []
        text = document.text
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            assert match is not None
            at = match.end()
            kind = match.lastgroup if match.lastgroup != "mark" else "heredoc"
            if match["heredoc"]:
                end = re.compile(rf"^[ \t]*{match['mark']}[ \t\r]*$", re.MULTILINE).search(text, at)
                at = len(text) if end is None else end.end()
                self.tokens.append(("unknown", document.traced(match.start(), at)))
            elif kind != "space":
                self.tokens.append((str(kind), document.traced(match.start(), match.end())))
        self.at = 0

    def peek(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            return "end", ""
        kind, text = self.tokens[self.at]
        return kind, text.text

    def fail(self, message: str) -> HclError:
        last = self.tokens[min(self.at, len(self.tokens) - 1)][1].anchor if self.tokens else 0
        return HclError(message, last)

    def lines(self) -> None:
        while self.peek()[0] == "line" or self.peek()[1] == ",":
            self.at += 1

    def run(self) -> Block:
        block = self.body(0, end="")
        if self.peek()[0] != "end":
            raise self.fail("expected the end of the file")
        return block

    def body(self, depth: int, end: str) -> Block:
        if depth > MAX_DEPTH:
            raise self.fail("nested too deeply")
        entries: list[tuple[str, Value]] = []
        while True:
            self.lines()
            kind, text = self.peek()
            if kind == "end" and not end:
                break
            if text == end:
                self.at += 1
                break
            if kind not in ("word", "string"):
                raise self.fail(f"expected a name, found {text or 'the end of the file'!r}")
            self.at += 1
            name = text.strip('"')
            named = []
            while self.peek()[0] in ("string", "word"):
                named.append(self.peek()[1].strip('"'))
                self.at += 1
            if self.peek()[1] in ("=", ":"):
                self.at += 1
                entries.append((name, self.value(depth)))
            elif self.peek()[1] == "{":
                self.at += 1
                inner = self.body(depth + 1, "}")
                inner.labels = tuple(named)
                entries.append((name, inner))
            else:
                raise self.fail(f"expected '=' or '{{' after {name!r}")
        return Block((), entries)

    def value(self, depth: int) -> Value:
        kind, text = self.peek()
        if text == "{":
            self.at += 1
            return self.body(depth + 1, "}")
        first = self.tokens[self.at][1] if self.at < len(self.tokens) else None
        count = 0
        nesting = 0
        while True:
            token, body = self.peek()
            if token == "end" or (nesting == 0 and (token == "line" or body in (",", "}", "]"))):
                break
            nesting += (body in ("(", "[", "{")) - (body in (")", "]", "}"))
            self.at += 1
            count += 1
        if first is None:
            return None
        if count == 1 and kind == "string":
            return first[1:-1] if "\\" not in text else None
        if count == 1 and kind == "word":
            return Traced(UNRESOLVED + text, [first.anchor] * (len(text) + 1))
        return None
