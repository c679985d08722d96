"""What `${{ … }}` means at a place of a workflow: env, matrix and inputs in their scopes."""

from __future__ import annotations

import re

from harness.pins import yaml
from harness.pins.text import UNRESOLVED, Traced, join
from harness.pins.tokens import LossyNumber, Reading

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
_CONTEXT = re.compile(r"(env|matrix|inputs)(?:\.([\w-]+(?:\.[\w-]+)*)|\['([\w-]+)'\])")
_LITERAL = re.compile(r"'((?:[^']|'')*)'")
MAX_VARIANTS = 64
MAX_DEPTH = 5


class Scope:
    """The variables of a workflow, a job or a step; a child sees its parent's."""

    def __init__(self, reading: Reading, parent: Scope | None = None) -> None:
        self.reading = reading
        self.env: dict[str, Traced] = dict(parent.env) if parent else {}
        self.inputs: dict[str, Traced] = parent.inputs if parent else {}
        self.axes: dict[str, list[Traced]] = dict(parent.axes) if parent else {}
        self.lossy: dict[int, str] = parent.lossy if parent else {}

    def child(self) -> Scope:
        """Return an inner scope."""
        return Scope(self.reading, self)

    def environment(self, name: str) -> Traced | None:
        """Return an environment variable, for the shell."""
        return self.env.get(name)

    def matrix(self, node: yaml.Node | None) -> None:
        """Read the axes of a matrix, `include` among them."""
        for key, value in yaml.items(node):
            if key.value == "include":
                for entry in yaml.entries(value):
                    for name, inner in yaml.items(entry):
                        self._axis(name.value, inner)
            elif key.value != "exclude":
                for entry in yaml.entries(value):
                    self._axis(key.value, entry)

    def _axis(self, name: str, node: yaml.Node, depth: int = 0) -> None:
        for key, value in yaml.items(node) if depth < MAX_DEPTH else ():
            self._axis(f"{name}.{key.value}", value, depth + 1)
        text = yaml.scalar(self.reading.document, node)
        if text is not None:
            self.axes.setdefault(name, []).append(text)
            becomes = yaml.is_lossy_number(node)
            if becomes is not None:
                self.reading.facts.append(LossyNumber(self.reading.document.located(text), becomes))

    def text(self, node: yaml.Node | None) -> Traced | None:
        """Return a scalar with its expressions resolved; the first variant of a matrix."""
        texts = self.texts(node)
        return texts[0] if texts else None

    def texts(self, node: yaml.Node | None) -> list[Traced]:
        """Return a scalar with its expressions resolved, once for each value of a matrix axis."""
        source = yaml.scalar(self.reading.document, node)
        return [] if source is None else self.resolve(source)

    def resolve(self, source: Traced) -> list[Traced]:
        """Resolve the expressions of a string."""
        variants: list[list[Traced]] = [[]]
        at = 0
        for match in _EXPRESSION.finditer(source.text):
            values = self.expression(source.group(match, 1))
            before = source[at : match.start()]
            at = match.end()
            variants = [[*parts, before, value] for parts in variants for value in values][
                :MAX_VARIANTS
            ]
        tail = source[at:]
        return [join([*parts, tail]) for parts in variants]

    def expression(self, text: Traced) -> list[Traced]:
        """Return the values that an expression may have."""
        unknown = [Traced(UNRESOLVED, [text.anchor])]
        options = []
        at = 0
        for part in re.split(r"\|\|", text.text):
            options.append(text[at : at + len(part)].strip())
            at += len(part) + 2
        for option in options:
            literal = _LITERAL.fullmatch(option.text)
            if literal is not None:
                return [option.group(literal, 1)]
            context = _CONTEXT.fullmatch(option.text)
            if context is None:
                return unknown
            name = context[2] or context[3]
            if context[1] == "matrix" and self.axes.get(name):
                return self.axes[name]
            table = self.env if context[1] == "env" else self.inputs
            if context[1] != "matrix" and name in table:
                return [table[name]]
        return unknown
