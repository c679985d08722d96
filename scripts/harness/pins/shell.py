"""Enough of the POSIX shell to see which commands a script runs, with positions.

Quotes, comments, continuations, variables with defaults, command substitution, `sh -c`, and
heredocs are understood. What can't be known (an unset variable, a substitution) becomes
`UNRESOLVED` in the word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.pins.text import UNRESOLVED, Traced, join

Lookup = Callable[[str], Traced | None]
Use = Callable[[str, Traced], None]

MAX_DEPTH = 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s;&|<>()\"']+))")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|()<>#\0]+")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_ESCAPED = ('"', "\\", "$", "`", "\n")
_SPECIAL = frozenset("@*#?!$-0123456789")
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
_WRAPPERS = frozenset(
    {
        "if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "time", "sudo", "env",
        "exec", "command", "nice", "nohup", "xargs", "eval", "export", "fi", "done",
    }
)  # fmt: skip


@dataclass(slots=True)
class Command:
    """One simple command: its words after assignments and wrappers such as `sudo`."""

    words: list[Traced]
    assignments: list[tuple[str, Traced]] = field(default_factory=list)

    @property
    def program(self) -> str:
        """The base name of the program."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""


def commands(source: Traced, lookup: Lookup, use: Use | None = None) -> list[Command]:
    """Return the commands of a script in order.

    Args:
        source: The script.
        lookup: Returns the value of a variable, or None where it has none.
        use: Called for each variable that is read and not set by the script itself.
    """
    return _Lexer(source, lookup, use, {}, 0).run()


def from_words(words: list[Traced], lookup: Lookup, use: Use | None = None) -> list[Command]:
    """Return the command that a list of words runs, and what `sh -c` in it runs."""
    lexer = _Lexer(Traced("", ()), lookup, use, {}, 0)
    lexer.words = list(words)
    lexer.end_command()
    return lexer.found


def words(source: Traced, lookup: Lookup, use: Use | None = None) -> list[Traced]:
    """Split at white space and expand, as Docker does for ARG, ENV, LABEL and FROM."""
    lexer = _Lexer(source, lookup, use, {}, 0)
    while lexer.at < len(lexer.text):
        match = _PLAIN.match(lexer.text, lexer.at)
        if match is not None:
            lexer.take(match.end())
        elif lexer.text[lexer.at].isspace():
            lexer.end_word()
            lexer.at += 1
        else:
            lexer.quoted_or_expanded(lexer.text[lexer.at])
    lexer.end_word()
    return lexer.words


class _Lexer:
    def __init__(
        self,
        source: Traced,
        lookup: Lookup,
        use: Use | None,
        local: dict[str, Traced],
        depth: int,
    ) -> None:
        self.source = source
        self.text = source.text
        self.lookup = lookup
        self.use = use
        self.local = local
        self.depth = depth
        self.at = 0
        self.found: list[Command] = []
        self.words: list[Traced] = []
        self.parts: list[Traced] | None = None
        self.skip_word = False
        # Name, `<<-`, and (once the command is known) whether a shell runs the body.
        self.heredocs: list[tuple[str, bool, bool | None]] = []

    def run(self) -> list[Command]:
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if match := _PLAIN.match(text, self.at):
                self.take(match.end())
            elif char == "\n":
                self.end_command()
                self.at += 1
                self.bodies()
            elif char in ";&|()":
                self.end_command()
                self.at += 1
            elif char.isspace():
                self.end_word()
                self.at += 1
            elif char == "#" and self.parts is None:
                stop = text.find("\n", self.at)
                self.at = len(text) if stop < 0 else stop
            elif char in "<>":
                self.redirect()
            else:
                self.quoted_or_expanded(char)
        self.end_command()
        return self.found

    # Words

    def add(self, part: Traced) -> None:
        if self.parts is None:
            self.parts = []
        self.parts.append(part)

    def take(self, end: int) -> None:
        self.add(self.source[self.at : end])
        self.at = end

    def quoted_or_expanded(self, char: str) -> None:
        text = self.text
        if char == "'":
            stop = text.find("'", self.at + 1)
            stop = len(text) if stop < 0 else stop
            self.add(self.source[self.at + 1 : stop])
            self.at = stop + 1
        elif char == '"':
            self.at += 1
            self.add(self.source[self.at : self.at])
            while self.at < len(text) and text[self.at] != '"':
                if text[self.at] == "\\" and text[self.at + 1 : self.at + 2] in _ESCAPED:
                    if text[self.at + 1] != "\n":
                        self.add(self.source[self.at + 1 : self.at + 2])
                    self.at += 2
                elif text[self.at] in "$`":
                    self.expansion()
                else:
                    match = _IN_QUOTES.match(text, self.at)
                    self.take(match.end() if match else self.at + 1)
            self.at += 1
        elif char == "\\":
            if text.startswith("\\\n", self.at):
                self.at += 2
            elif text.startswith("\\\r\n", self.at):
                self.at += 3
            else:
                self.at += 1
                self.take(min(self.at + 1, len(text)))
        elif char in "$`":
            self.expansion()
        else:
            self.take(self.at + 1)

    def end_word(self) -> None:
        if self.parts is None:
            return
        word = join(self.parts)
        self.parts = None
        if self.skip_word:
            self.skip_word = False
        else:
            self.words.append(word)

    def end_command(self) -> None:
        self.end_word()
        self.skip_word = False
        words, self.words = self.words, []
        assignments = []
        while words:
            match = _ASSIGNMENT.match(words[0].text)
            if match is not None:
                value = words[0][match.end() :]
                assignments.append((match[1], value))
                self.local[match[1]] = value
            elif words[0].text not in _WRAPPERS and not (
                words[0].text.startswith("-") and words[0].text != "-"
            ):
                break
            words = words[1:]
        runs = not words or words[0].text.rpartition("/")[2] in _SHELLS
        self.heredocs = [(a, b, runs if c is None else c) for a, b, c in self.heredocs]
        if words and words[0].text in ("for", "read", "local") and len(words) > 1:
            unknown = Traced(UNRESOLVED, [words[1].anchor])
            self.local[words[1].text] = unknown
        if words or assignments:
            command = Command(words, assignments)
            self.found.append(command)
            self.nested(command)

    def nested(self, command: Command) -> None:
        """Read the script of `sh -c "…"` as well."""
        if command.program not in _SHELLS:
            return
        for word, script in zip(command.words[1:], command.words[2:], strict=False):
            if re.fullmatch(r"-[a-z]*c", word.text):
                self.inner(script)
                return

    def inner(self, script: Traced) -> None:
        if self.depth < MAX_DEPTH:
            lexer = _Lexer(script, self.lookup, self.use, self.local, self.depth + 1)
            self.found.extend(lexer.run())

    # Expansion

    def variable(self, name: str, at: Traced) -> Traced | None:
        if name in self.local:
            return self.local[name]
        if self.use is not None:
            self.use(name, at)
        return self.lookup(name)

    def expansion(self) -> None:
        text, start = self.text, self.at
        unknown = Traced(UNRESOLVED, [self.source.at[start]])
        if text.startswith("$(", start) or text[start] == "`":
            stop = _closing(text, start)
            inside = start + (1 if text[start] == "`" else 2)
            self.inner(self.source[inside:stop])
            self.at = stop + 1
            self.add(unknown)
            return
        if text.startswith("${", start):
            stop = _brace(text, start + 2)
            value = self.parameter(self.source[start + 2 : stop])
            self.at = stop + 1
            self.add(unknown if value is None else value)
            return
        match = _NAME.match(text, start + 1)
        if match is None:
            special = text[start + 1 : start + 2] in _SPECIAL and start + 1 < len(text)
            self.at = start + (2 if special else 1)
            self.add(unknown if special else self.source[start : start + 1])
            return
        self.at = match.end()
        value = self.variable(match[0], self.source[start : self.at])
        self.add(unknown if value is None else value)

    def parameter(self, body: Traced) -> Traced | None:
        """Return the value of `${…}`: the plain form and the ones with a default."""
        match = _NAME.match(body.text)
        if match is None:
            return None
        value = self.variable(match[0], body[: match.end()])
        rest = body[match.end() :]
        if not rest.text:
            return value
        if rest.text.startswith((":-", "-", ":=", "=")):
            word = rest[2 if rest.text[0] == ":" else 1 :]
            empty = value is None or (rest.text[0] == ":" and not value.text)
            return self.word(word) if empty else value
        if rest.text.startswith((":+", "+")):
            word = rest[2 if rest.text[0] == ":" else 1 :]
            return self.word(word) if value is not None and value.text else body[:0]
        return None

    def word(self, word: Traced) -> Traced:
        """Expand the word after `:-`."""
        if self.depth >= MAX_DEPTH:
            return Traced(UNRESOLVED, [word.anchor])
        lexer = _Lexer(word, self.lookup, self.use, self.local, self.depth + 1)
        while lexer.at < len(lexer.text):
            match = _PLAIN.match(lexer.text, lexer.at)
            if match is not None:
                lexer.take(match.end())
            else:
                lexer.quoted_or_expanded(lexer.text[lexer.at])
        return join(lexer.parts or [word[:0]])

    # Redirections

    def redirect(self) -> None:
        match = _HEREDOC.match(self.text, self.at)
        if match is not None and not self.text.startswith("<<<", self.at):
            self.end_word()
            name = match[2] or match[3] or match[4]
            self.heredocs.append((name, bool(match[1]), None))
            self.at = match.end()
            return
        if self.parts is not None and join(self.parts).text.isdigit():
            self.parts = None
        self.end_word()
        while self.at < len(self.text) and self.text[self.at] in "<>&|":
            self.at += 1
        if self.at < len(self.text) and self.text[self.at] == "(":
            return
        self.skip_word = True

    def bodies(self) -> None:
        """Consume the bodies of the heredocs that were opened on the line above."""
        pending, self.heredocs = self.heredocs, []
        for name, dashed, runs in pending:
            body = self.body(name, dashed)
            shebang = re.match(r"#!.*", body.text)
            if runs and (shebang is None or re.search(r"\b(?:ba|da|a|z|k)?sh\b", shebang[0])):
                self.inner(body)

    def body(self, name: str, dashed: bool) -> Traced:
        """Return the lines up to the terminator (or the end), and move behind it."""
        start = self.at
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[self.at : stop].rstrip("\r")
            before, self.at = self.at, stop + 1
            if (line.lstrip("\t") if dashed else line) == name:
                return self.source[start:before]
        return self.source[start:]


def _closing(text: str, start: int) -> int:
    """Return the offset of what closes `$(` or a backtick."""
    if text[start] == "`":
        stop = text.find("`", start + 1)
        return len(text) if stop < 0 else stop
    depth = 0
    at = start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "'":
            stop = text.find("'", at + 1)
            at = len(text) if stop < 0 else stop
        elif text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return len(text)


def _brace(text: str, at: int) -> int:
    """Return the offset of the brace that closes `${`."""
    depth = 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return len(text)
