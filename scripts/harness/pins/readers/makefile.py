"""Makefiles: variables, and what the recipes run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.pins import shell
from harness.pins.readers import shell_claims
from harness.pins.text import UNRESOLVED, Traced, join
from harness.pins.tokens import Claim, Override, Reading

NAME = "makefile"
_VARIABLE = re.compile(
    r"(?:(?:export|override)\s+)*([A-Za-z_][\w.-]*)\s*(?:[:?+]{0,2}:?=)\s*([^#]*?)\s*(?:#.*)?"
)
_REFERENCE = re.compile(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})|(\$\$)")


def read(reading: Reading) -> None:
    """Read one makefile."""
    variables: dict[str, Traced] = {}
    recipe: list[Traced] = []
    for line in _lines(reading.document.whole()):
        if line.text.startswith("\t"):
            # `@`, `-` and `+` are words to make, not to the shell.
            body = line[1:]
            recipe.append(
                _expand(body[len(body.text) - len(body.text.lstrip("@+- ")) :], variables)
            )
            continue
        _run(reading, recipe)
        recipe = []
        match = _VARIABLE.fullmatch(line.text)
        if match is not None:
            value = _expand(line.group(match, 2), variables)
            variables[match[1]] = value
            if value.text:
                at = reading.document.located(value)
                reading.claims.append(Claim("build-arg", match[1], "value", at, "variable"))
    _run(reading, recipe)
    # A target may build unlocked on purpose; only images must not.
    reading.facts = [fact for fact in reading.facts if not isinstance(fact, Override)]


def _lines(source: Traced) -> Iterator[Traced]:
    """Yield the lines, continued ones joined."""
    pending: list[Traced] = []
    at = 0
    while at < len(source.text):
        stop = source.text.find("\n", at)
        stop = len(source.text) if stop < 0 else stop
        line = source[at:stop]
        line = line[:-1] if line.text.endswith("\r") else line
        at = stop + 1
        if line.text.endswith("\\"):
            pending.append(line[:-1])
        else:
            yield join([*pending, line])
            pending = []
    if pending:
        yield join(pending)


def _expand(text: Traced, variables: dict[str, Traced]) -> Traced:
    """Put known variables in the place of `$(NAME)`, and `$` in that of `$$`."""
    parts = []
    at = 0
    for match in _REFERENCE.finditer(text.text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[3]:
            parts.append(text[match.start() : match.start() + 1])
        else:
            unknown = Traced(UNRESOLVED, [text.at[match.start()]])
            parts.append(variables.get(match[1] or match[2], unknown))
    return join([*parts, text[at:]]) if parts else text


def _run(reading: Reading, recipe: list[Traced]) -> None:
    for line in recipe:
        commands = shell.commands(line, lambda name: None)
        shell_claims.read_commands(reading, commands, "recipe")
