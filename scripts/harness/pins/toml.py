"""TOML 1.0 with positions: every key and value keeps the place where it was written.

`tomllib` gives values only; the rules need spans. A property test holds this parser and tomllib to
the same values and the same refusals.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from harness.pins.text import Document, Traced

Value: TypeAlias = "Table | Array | Traced | Scalar"

MAX_DEPTH = 100
_SPACE = re.compile(r"[ \t]*")
_COMMENT = r"#[^\x00-\x08\x0a-\x1f\x7f]*"
_VOID = re.compile(rf"(?:[ \t\n]|\r\n|{_COMMENT}(?=\r?\n|\Z))*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LINE_END = re.compile(rf"[ \t]*(?:{_COMMENT})?(?:\r?\n|\Z)")
_BASIC = re.compile(r'"([^"\\\n\x00-\x08\x0a-\x1f\x7f]*)"')
_LITERAL = re.compile(r"'([^'\n\x00-\x08\x0a-\x1f\x7f]*)'")
_ESCAPE = re.compile(r'\\(?:(["\\bfnrt])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))')
_ESCAPES = {'"': '"', "\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FOLD = re.compile(r"\\[ \t]*\r?\n(?:[ \t\n]|\r\n)*")
_SCALAR = re.compile(r"[A-Za-z0-9_+:.\-]+(?: (?=\d\d:)[0-9:.+\-Zz]+)?")
_TIME = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_KINDS = (
    ("bool", re.compile(r"true|false")),
    ("int", re.compile(r"[+-]?(?:0|[1-9](?:_?\d)*)|0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*")),
    ("int", re.compile(r"0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*")),
    ("float", re.compile(r"[+-]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?")),
    ("float", re.compile(r"[+-]?(?:inf|nan)")),
    ("date", re.compile(rf"\d{{4}}-\d\d-\d\d(?:[Tt ]{_TIME}(?:[Zz]|[+-]\d\d:\d\d)?)?")),
    ("date", re.compile(_TIME)),
)  # fmt: skip


class TomlError(ValueError):
    """The document is not TOML; `offset` is where (characters)."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Scalar:
    """A number, a boolean or a date, as written."""

    __slots__ = ("kind", "raw")

    def __init__(self, raw: Traced, kind: str) -> None:
        self.raw = raw
        self.kind = kind

    def __repr__(self) -> str:
        return f"Scalar({self.raw.text})"


class Array(list["Value"]):
    """An array; `at` is the offset of its bracket."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.frozen = True


class Table(dict[str, "Value"]):
    """A table; `at` is the offset of its header or brace, `keys_at` that of each key."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.keys_at: dict[str, Traced] = {}
        self.state = "implicit"

    def string(self, key: str) -> Traced | None:
        """Return the string under `key`, or None where there is none."""
        value = self.get(key)
        return value if isinstance(value, Traced) else None

    def table(self, key: str) -> Table:
        """Return the table under `key`, or an empty one."""
        value = self.get(key)
        return value if isinstance(value, Table) else Table(self.at)

    def tables(self, key: str) -> list[Table]:
        """Return the tables of the array under `key`."""
        value = self.get(key)
        return [item for item in _items(value) if isinstance(item, Table)]

    def strings(self, key: str) -> list[Traced]:
        """Return the strings of the array under `key`."""
        value = self.get(key)
        return [item for item in _items(value) if isinstance(item, Traced)]

    def flag(self, key: str) -> bool:
        """Say whether `key` is true."""
        value = self.get(key)
        return isinstance(value, Scalar) and value.raw.text == "true"


def parse(document: Document) -> Table:
    """Parse a document; raises `TomlError`."""
    return _Parser(document).run()


class _Parser:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.at = 0
        self.depth = 0

    def fail(self, message: str, offset: int | None = None) -> TomlError:
        return TomlError(message, self.at if offset is None else offset)

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def run(self) -> Table:
        root = Table(0)
        current = root
        text = self.text
        while True:
            self.skip(_VOID)
            if self.at >= len(text):
                return root
            if text[self.at] == "[":
                current = self.header(root)
            else:
                self.pair(current)
            end = _LINE_END.match(text, self.at)
            if end is None:
                raise self.fail("expected the end of the line")
            self.at = end.end()

    def header(self, root: Table) -> Table:
        start = self.at
        array = self.text.startswith("[[", self.at)
        self.at += 2 if array else 1
        self.skip(_SPACE)
        keys = self.dotted()
        if not self.text.startswith("]]" if array else "]", self.at):
            raise self.fail("expected ']' at the end of a table name")
        self.at += 2 if array else 1
        table = root
        for key in keys[:-1]:
            table = self.descend(table, key, start)
        last = keys[-1]
        present = table.get(last.text)
        if array:
            if present is None:
                present = table[last.text] = Array(start)
                present.frozen = False
                table.keys_at[last.text] = last
            if not isinstance(present, Array) or present.frozen:
                raise self.fail(f"{last.text!r} is defined twice", start)
            fresh = Table(start)
            fresh.state = "header"
            present.append(fresh)
            return fresh
        if present is None:
            present = table[last.text] = Table(start)
            table.keys_at[last.text] = last
        elif not isinstance(present, Table) or present.state != "implicit":
            raise self.fail(f"table {last.text!r} is defined twice", start)
        present.state = "header"
        present.at = start
        return present

    def descend(self, table: Table, key: Traced, at: int) -> Table:
        present = table.get(key.text)
        if present is None:
            present = table[key.text] = Table(at)
            table.keys_at[key.text] = key
        if isinstance(present, Array) and not present.frozen:
            present = present[-1]
        if not isinstance(present, Table) or present.state == "inline":
            raise self.fail(f"{key.text!r} is no table", at)
        return present

    def pair(self, table: Table) -> None:
        start = self.at
        keys = self.dotted()
        if not self.text.startswith("=", self.at):
            raise self.fail("expected '=' after a key")
        self.at += 1
        self.skip(_SPACE)
        for key in keys[:-1]:
            present = table.get(key.text)
            if present is None:
                present = table[key.text] = Table(start)
                present.state = "dotted"
                table.keys_at[key.text] = key
            if not isinstance(present, Table) or present.state not in ("dotted", "implicit"):
                raise self.fail(f"{key.text!r} is defined twice", start)
            present.state = "dotted"
            table = present
        last = keys[-1]
        if last.text in table:
            raise self.fail(f"{last.text!r} is defined twice", start)
        table[last.text] = self.value()
        table.keys_at[last.text] = last

    def dotted(self) -> list[Traced]:
        keys = []
        while True:
            self.skip(_SPACE)
            match = _BARE.match(self.text, self.at)
            if match is not None:
                keys.append(self.document.traced(match.start(), match.end()))
                self.at = match.end()
            elif self.text.startswith(('"', "'"), self.at):
                if self.text.startswith(('"""', "'''"), self.at):
                    raise self.fail("a key can't span lines")
                keys.append(self.string())
            else:
                raise self.fail("expected a key")
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def value(self) -> Value:
        char = self.text[self.at : self.at + 1]
        if char in ('"', "'") and char:
            return self.string()
        if char in ("[", "{"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self.fail("nested too deeply")
            value = self.array() if char == "[" else self.inline()
            self.depth -= 1
            return value
        match = _SCALAR.match(self.text, self.at)
        if match is not None:
            for kind, pattern in _KINDS:
                if pattern.fullmatch(match[0]):
                    self.at = match.end()
                    return Scalar(self.document.traced(match.start(), match.end()), kind)
        raise self.fail("expected a value")

    def array(self) -> Array:
        array = Array(self.at)
        self.at += 1
        while True:
            self.skip(_VOID)
            if self.text.startswith("]", self.at):
                self.at += 1
                return array
            array.append(self.value())
            self.skip(_VOID)
            if self.text.startswith(",", self.at):
                self.at += 1
            elif not self.text.startswith("]", self.at):
                raise self.fail("expected ',' or ']' in an array")

    def inline(self) -> Table:
        table = Table(self.at)
        self.at += 1
        self.skip(_SPACE)
        if self.text.startswith("}", self.at):
            self.at += 1
        else:
            while True:
                self.skip(_SPACE)
                self.pair(table)
                self.skip(_SPACE)
                if self.text.startswith(",", self.at):
                    self.at += 1
                elif self.text.startswith("}", self.at):
                    self.at += 1
                    break
                else:
                    raise self.fail("expected ',' or '}' in an inline table")
        _freeze(table)
        return table

    def string(self) -> Traced:
        text, start = self.text, self.at
        if text.startswith(('"""', "'''"), start):
            return self.long_string(text[start : start + 3])
        simple = (_BASIC if text[start] == '"' else _LITERAL).match(text, start)
        if simple is not None:
            self.at = simple.end()
            return self.document.traced(simple.start(1), simple.end(1))
        if text[start] == "'":
            raise self.fail("unterminated string")
        self.at += 1
        return self.escaped(start, '"')

    def long_string(self, quote: str) -> Traced:
        start = self.at
        self.at += 3
        if self.text.startswith("\n", self.at):
            self.at += 1
        elif self.text.startswith("\r\n", self.at):
            self.at += 2
        if quote == '"""':
            return self.escaped(start, quote)
        stop = self.text.find(quote, self.at)
        if stop < 0:
            raise self.fail("unterminated string", start)
        stop += self.extra_quotes(stop, "'")
        value = self.document.traced(self.at, stop)
        if bad := re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)", value.text):
            raise self.fail("control character in a string", self.at + bad.start())
        self.at = stop + 3
        return value

    def extra_quotes(self, stop: int, quote: str) -> int:
        """Return how many quotes (at most two) belong to the string before its closing three."""
        run = self.text[stop + 3 : stop + 5]
        return len(run) - len(run.lstrip(quote))

    def escaped(self, start: int, quote: str) -> Traced:
        """Read a basic string that the fast path could not."""
        text = self.text
        chars: list[str] = []
        at: list[int] = []
        while True:
            if self.at >= len(text):
                raise self.fail("unterminated string", start)
            char = text[self.at]
            if text.startswith(quote, self.at):
                extra = self.extra_quotes(self.at, '"') if len(quote) == 3 else 0
                chars.extend('"' * extra)
                at.extend(range(self.at, self.at + extra))
                self.at += extra
                self.at += len(quote)
                return Traced("".join(chars), at, start + 1)
            if char == "\\":
                match = _ESCAPE.match(text, self.at)
                if match is not None:
                    code = match[2] or match[3]
                    if code and (int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) <= 0xDFFF):
                        raise self.fail("escape is no character")
                    chars.append(chr(int(code, 16)) if code else _ESCAPES[match[1]])
                    at.append(self.at)
                    self.at = match.end()
                    continue
                fold = _FOLD.match(text, self.at)
                if len(quote) == 3 and fold is not None:
                    self.at = fold.end()
                    continue
                raise self.fail("unknown escape")
            line_end = char == "\n" or text.startswith("\r\n", self.at)
            if (
                not (line_end and len(quote) == 3)
                and char != "\t"
                and (char < " " or char == "\x7f")
            ):
                raise self.fail("control character or line end in a string")
            chars.append(char)
            at.append(self.at)
            self.at += 1


def _items(value: Value | None) -> list[Value]:
    return list(value) if isinstance(value, Array) else []


def _freeze(table: Table) -> None:
    table.state = "inline"
    for value in table.values():
        if isinstance(value, Table):
            _freeze(value)


def lookup(table: Table, *keys: str) -> Value | None:
    """Follow `keys` downwards."""
    value: Value | None = table
    for key in keys:
        if not isinstance(value, Table):
            return None
        value = value.get(key)
    return value
