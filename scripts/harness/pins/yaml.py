"""YAML (and JSON) with positions: PyYAML's node tree, with values traced to the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml as pyyaml

from harness.pins.text import Document, Traced, join

Node: TypeAlias = pyyaml.Node
_LOADER: Any = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
# What YAML does not allow, replaced so that one stray byte does not hide a file.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MAX_MERGES = 50


class YamlError(ValueError):
    """The document is not YAML; `offset` is where (characters)."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def parse(document: Document, *, json: bool = False) -> Node | None:
    """Return the node tree of the first YAML document; raises `YamlError`."""
    text = _FORBIDDEN.sub("\ufffd", document.text)
    if json:
        text = text.replace("\t", " ")
    try:
        return pyyaml.compose(text, Loader=_LOADER)
    except pyyaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        offset = _offset(document.text, mark.line, mark.column) if mark else 0
        raise YamlError(error.problem or "not YAML", offset) from error
    except (pyyaml.YAMLError, RecursionError) as error:
        raise YamlError(str(error).splitlines()[0] or "not YAML", 0) from error


def _offset(text: str, line: int, column: int) -> int:
    at = 0
    for _ in range(line):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return min(at + column, len(text))


def items(node: Node | None) -> Iterator[tuple[pyyaml.ScalarNode, Node]]:
    """Yield the scalar keys and the values of a mapping, merged mappings (`<<`) included."""
    budget = [MAX_MERGES]

    def walk(mapping: Node | None) -> Iterator[tuple[pyyaml.ScalarNode, Node]]:
        if not isinstance(mapping, pyyaml.MappingNode):
            return
        for key, value in mapping.value:
            if not isinstance(key, pyyaml.ScalarNode):
                continue
            if key.value == "<<" and budget[0]:
                budget[0] -= 1
                sources = value.value if isinstance(value, pyyaml.SequenceNode) else [value]
                for source in sources:
                    yield from walk(source)
            else:
                yield key, value

    yield from walk(node)


def get(node: Node | None, *path: str) -> Node | None:
    """Follow keys downwards; a mapping's own key comes before a merged one."""
    for name in path:
        found = None
        for key, value in items(node):
            if key.value == name:
                found = value
        node = found
    return node


def entries(node: Node | None) -> list[Node]:
    """Return the elements of a sequence; a single scalar counts as one."""
    if isinstance(node, pyyaml.SequenceNode):
        return list(node.value)
    return [node] if isinstance(node, pyyaml.ScalarNode) else []


def scalar(document: Document, node: Node | None) -> Traced | None:
    """Return the text of a scalar, each character at its place where that is possible."""
    if not isinstance(node, pyyaml.ScalarNode):
        return None
    start, end = node.start_mark.index, node.end_mark.index
    raw = document.text[start:end]
    value: str = node.value
    if node.style in ("|", ">"):
        return _block(document, start, end)
    if node.style in ("'", '"'):
        start, end, raw = start + 1, end - 1, raw[1:-1]
    if raw == value:
        return document.traced(start, end)
    if raw.rstrip() == value:
        return document.traced(start, start + len(value))
    return Traced(value, [start] * len(value), start)


def _block(document: Document, start: int, end: int) -> Traced:
    """Return the lines of a block scalar without their indentation (folds are not folded)."""
    at = document.text.find("\n", start, end) + 1
    if at == 0:
        return document.traced(end, end)
    lines: list[tuple[int, int]] = []
    while at < end:
        stop = document.text.find("\n", at, end)
        stop = end if stop < 0 else stop + 1
        lines.append((at, stop))
        at = stop
    bodies = [document.text[a:b] for a, b in lines]
    indents = [len(body) - len(body.lstrip(" ")) for body in bodies if body.strip()]
    indent = min(indents, default=0)
    parts = []
    for (a, b), body in zip(lines, bodies, strict=True):
        cut = indent if body.strip() else 0
        parts.append(document.traced(a + cut, b))
    return join(parts) if parts else document.traced(end, end)


def is_lossy_number(node: Node | None) -> str | None:
    """Return what YAML makes of a plain number such as 3.10, where that loses digits."""
    if not isinstance(node, pyyaml.ScalarNode) or node.style in ("'", '"', "|", ">"):
        return None
    if re.fullmatch(r"\d+\.\d*0", node.value) and node.tag.endswith(":float"):
        return repr(float(node.value))
    return None
