"""What a script runs: words, quotes, variables, heredocs, and where each character stands."""

from __future__ import annotations

import pytest

from harness.pins import shell
from harness.pins.text import Document, Traced

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

KNOWN = {"SET": "value", "EMPTY": ""}


def read(script: str) -> list[shell.Command]:
    known = {name: Traced(text, range(9000, 9000 + len(text))) for name, text in KNOWN.items()}
    return shell.commands(Document("x", script.encode()).whole(), known.get)


def words(script: str) -> list[list[str]]:
    return [[word.text.replace("\0", "?") for word in command.words] for command in read(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a b  c", [["a", "b", "c"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a # b\nc#d '#'", [["a"], ["c#d", "#"]]),
        ("a \\\n b \\\r\n c", [["a", "b", "c"]]),
        ("sudo -E env X=1 nice a b", [["a", "b"]]),
        ("if a; then b; fi", [["a"], ["b"]]),
        ("a >out 2>&1 <in >>more b", [["a", "b"]]),
        ("echo $SET ${SET} \"$SET\" '$SET'", [["echo", "value", "value", "value", "$SET"]]),
        ("echo ${EMPTY}x ${EMPTY:-y} ${EMPTY-z}", [["echo", "x", "y", ""]]),
        ("echo ${NO:-y} ${NO-z} ${SET:+w} ${NO:+w} $NO", [["echo", "y", "z", "w", "", "?"]]),
        ("echo ${NO:-${SET}} $1 $$ 5$", [["echo", "value", "?", "?", "5$"]]),
        ("X=1; echo $X", [[], ["echo", "1"]]),
        ("for X in a b; do echo $X; done", [["for", "X", "in", "a", "b"], ["echo", "?"]]),
        ("echo $(pip a) `pip b`", [["pip", "a"], ["pip", "b"], ["echo", "?", "?"]]),
        ("bash -ec 'a; b' c", [["bash", "-ec", "a; b", "c"], ["a"], ["b"]]),
        ("cat <<EOF\na b\nEOF\nc", [["cat"], ["c"]]),
        ("sh <<'EOF'\na b\n EOF\nEOF\nc", [["sh"], ["a", "b"], ["EOF"], ["c"]]),
        ("<<-EOF sh\n\ta\n\tEOF\nc", [["sh"], ["a"], ["c"]]),
        ("cat <<A <<B\n1\nA\n2\nB\nc", [["cat"], ["c"]]),
        ("<<EOF\n#!/usr/bin/env python\na\nEOF\nb", [["b"]]),
        ("<<EOF\n#!/bin/sh -e\na\nEOF\nb", [["a"], ["b"]]),
        ("cat <<<word; b", [["cat"], ["b"]]),
        ("cat <<EOF\nnever ends", [["cat"]]),
        ("'unclosed", [["unclosed"]]),
    ],
)  # fmt: skip
def test_commands(script: str, expected: list[list[str]]) -> None:
    assert words(script) == expected


def test_words_know_where_they_stand() -> None:
    script = "pip install \\\n  # not a comment here\n  'sim[x]==0.13.0'"
    (command, *_) = read("pip install 'sim[x]==0.13.0' \"a\"b")
    assert [word.anchor for word in command.words] == [0, 4, 13, 30]
    assert command.words[2].contiguous()
    # A quote in the middle of a word breaks it: it can't be replaced as one span.
    assert not command.words[3].contiguous()
    assert words(script)[0] == ["pip", "install"]


def test_what_a_script_sets_itself_is_not_asked_for() -> None:
    asked: list[str] = []
    document = Document("x", b"A=1; echo $A $B; for C in x; do echo $C '$D' ${E:-$F}; done")
    shell.commands(document.whole(), lambda name: None, lambda name, at: asked.append(name))
    assert asked == ["B", "E", "F"]


def test_docker_words() -> None:
    document = Document("x", b"A='' B=\"x y\" C=${EMPTY} D=a;b<c #e")
    found = shell.words(document.whole(), lambda name: Traced("", ()))
    assert [word.text for word in found] == ["A=", "B=x y", "C=", "D=a;b<c", "#e"]
