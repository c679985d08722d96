"""What holds for any bytes: no reader crashes, spans lie inside, the fixer moves spans only."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.pins import readers, toml
from harness.pins.findings import Edit
from harness.pins.fix import replace
from harness.pins.scan import revisions
from harness.pins.text import Document, Span, Traced
from harness.pins.tokens import Claim, Fact, Reading
from tests.harness.pins.trees import CASES, load_cases

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.unit,
    pytest.mark.gpu_0,
    pytest.mark.timeout(300),
]

PATHS = {
    "cargo_manifest": "Cargo.toml",
    "cargo_lock": "Cargo.lock",
    "cargo_config": ".cargo/config.toml",
    "pyproject": "pyproject.toml",
    "python_locks": "uv.lock",
    "toolchain": "rust-toolchain",
    "bake": "docker-bake.hcl",
    "compose": "compose.yaml",
    "workflow": ".github/workflows/x.yml",
    "precommit": ".pre-commit-config.yaml",
    "dockerfile": "Dockerfile",
    "requirements": "requirements.txt",
    "dotenv": ".env",
    "script": "x.sh",
    "makefile": "Makefile",
    "debian": "debian.lock",
}
SEEDS: dict[str, list[bytes]] = {name: [] for name in PATHS}
for _case in load_cases(CASES):
    for _path in sorted(_case.tree.rglob("*")):
        _reader = readers.reader_of(_path.relative_to(_case.tree).as_posix())
        if _path.is_file() and _reader is not None:
            SEEDS[_reader].append(_path.read_bytes())
QUICK = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@st.composite
def mutated(draw: st.DrawFn, name: str) -> bytes:
    """A fixture of a format with pieces cut, doubled, spliced with another and overwritten."""
    data = draw(st.sampled_from(SEEDS[name]))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 40)))
        other = draw(st.sampled_from(SEEDS[name]))
        cut = draw(st.integers(0, len(other)))
        piece = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from(
                    [b"\r\n", b"\\\n", b'"', b"'''", b"${", b"<<EOF\n", b"\xef\xbb\xbf"]
                ),
                st.just(data[at:end] * 2),
                st.just(other[cut : cut + 60]),
            )
        )
        data = data[:at] + piece + data[end:]
    return data


def spans(reading: Reading) -> list[Span]:
    """Every span that a reading holds, wherever it stands in its tokens."""
    found: list[Span] = []

    def visit(value: Any) -> None:
        if isinstance(value, Span):
            found.append(value)
        elif isinstance(value, tuple):
            for item in value:
                visit(item)
        elif hasattr(value, "__dataclass_fields__"):
            for name in value.__dataclass_fields__:
                visit(getattr(value, name))

    for token in (*reading.claims, *reading.facts, *reading.faults):
        visit(token)
    return found


def inspect(name: str, data: bytes) -> None:
    document = Document(PATHS[name], data)
    reading = readers.read(document, name)
    for span in spans(reading):
        assert 0 <= span.start <= span.end <= len(data)
        line, column = document.position(span.start)
        assert 1 <= line <= data.count(b"\n") + 1
        assert column >= 1
    for claim in reading.claims:
        assert isinstance(claim, Claim)
        if claim.at.exact:
            written = data[claim.at.span.start : claim.at.span.end]
            assert written == claim.text.encode(document.encoding, "surrogateescape")


def test_every_reader_is_here() -> None:
    assert set(PATHS) == set(readers.PATHS)
    assert all(readers.reader_of(path) == name for name, path in PATHS.items())
    assert all(SEEDS.values())


@pytest.mark.parametrize("name", PATHS)
def test_any_bytes(name: str) -> None:
    @QUICK
    @given(st.binary(max_size=200))
    def run(data: bytes) -> None:
        inspect(name, data)

    run()


@pytest.mark.parametrize("name", PATHS)
def test_mutated_files(name: str) -> None:
    @QUICK
    @given(mutated(name))
    def run(data: bytes) -> None:
        inspect(name, data)

    run()


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("wrapped", ["[", "{", "(", "${", "$(", "`", "a = [", "<<EOF\n", "- "])
def test_deep_nesting_is_refused_or_read(name: str, wrapped: str) -> None:
    inspect(name, (wrapped * 5_000).encode())


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_offsets_survive_every_encoding(encoding: str, text: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    document = Document("x", mark + text.encode(encoding))
    assert document.text == text
    for at in range(len(text) + 1):
        span = document.span(0, at)
        assert document.data[span.start : span.end].decode(document.encoding) == text[:at]
        assert document.position(span.end) == (
            text[:at].count("\n") + 1,
            at - (text[:at].rfind("\n") + 1) + 1,
        )


TOML = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**40), 2**40),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(codec="ascii"), max_size=6), inner, max_size=4),
    ),
    max_leaves=12,
)


def strings_of(value: Any) -> Any:
    """The shape of a value, with strings and without the other scalars."""
    if isinstance(value, dict):
        return {key: strings_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [strings_of(item) for item in value]
    if isinstance(value, Traced):
        return value.text.replace("\r\n", "\n")
    return value if isinstance(value, str) else None


@given(st.dictionaries(st.text(max_size=6), TOML, max_size=5))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_toml_agrees_with_the_library(value: dict[str, Any]) -> None:
    text = tomlkit.dumps(value)
    expected = strings_of(tomllib.loads(text))
    assert strings_of(toml.parse(Document("x", text.encode("utf-8", "surrogatepass")))) == expected


@pytest.mark.parametrize("name", ["cargo_manifest", "cargo_lock", "pyproject"])
def test_toml_refuses_what_the_library_refuses(name: str) -> None:
    """Dates alone are looked at less closely: no rule reads them."""

    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(mutated(name))
    def run(data: bytes) -> None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return
        document = Document("x", data)
        try:
            expected = strings_of(tomllib.loads(text.removeprefix("\ufeff")))
        except tomllib.TOMLDecodeError:
            if re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d", text):
                return
            with pytest.raises(toml.TomlError):
                toml.parse(document)
        else:
            assert strings_of(toml.parse(document)) == expected

    run()


@given(st.binary(max_size=300).map(lambda data: data + b" " + b"a" * 40 + b"\n" + data))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_fast_scan_agrees_with_a_regular_expression(data: bytes) -> None:
    pattern = re.compile(rb"(?<![0-9A-Za-z])[0-9a-f]{40}(?![0-9A-Za-z])")
    assert list(revisions(data)) == [(m.start(), m[0].decode()) for m in pattern.finditer(data)]


@given(
    st.binary(max_size=80),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 9)), max_size=5),
    st.text(st.characters(codec="ascii"), max_size=8),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_only_spans_are_replaced(data: bytes, wanted: list[tuple[int, int]], text: str) -> None:
    chosen: list[Span] = []
    for start, size in sorted(wanted):
        end = min(len(data), start + size)
        if start <= end and (not chosen or start > chosen[-1].end):
            chosen.append(Span(start, end))
    document = Document("x", data)
    if document.encoding != "utf-8":
        return
    result = replace(document, [Edit("x", span, text) for span in chosen])
    expected, at = b"", 0
    for span in chosen:
        expected += data[at : span.start] + text.encode()
        at = span.end
    assert result == expected + data[at:]


def test_facts_are_facts() -> None:
    """The walk above finds spans at any depth: a positive control."""
    reading = readers.read(Document("Cargo.toml", SEEDS["cargo_manifest"][0]), "cargo_manifest")
    assert len(spans(reading)) >= len(reading.claims)
    assert all(isinstance(fact, Fact) for fact in reading.facts)
