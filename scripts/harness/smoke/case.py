"""Acceptance cases: small TOML files, read and checked before anything runs.

The format is described in docs/smoke.md. A file with a `[matrix]` stands for one case for each
combination of its values.
"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from harness.errors import InputError
from harness.smoke.lanes.lane import Program
from harness.smoke.operators import OPERATORS
from harness.smoke.public_traces import PUBLIC

TRACES = ("sample", "given", *PUBLIC)
CASE_KEYS = {"title", "trace", "timeout", "agree", "matrix", "files", "run", "expect"}
RUN_KEYS = {"name", "program", "args"}
DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class Run:
    """One call of a program; its `args` may hold {trace}, {trace_format}, {inputs} and {out}."""

    name: str
    program: Program
    args: tuple[str, ...]


@dataclass(frozen=True)
class Expectation:
    """What must hold after the runs: subject, operator, operand; `because` gives its source."""

    that: str
    operator: str
    operand: Any
    because: str


@dataclass(frozen=True)
class Case:
    """One acceptance case.

    Attributes:
        name: The file's name, with the matrix values behind it.
        title: One line for people.
        trace: "sample" (shipped), "given" (on the command line, else the sample), a public trace's
            name or None.
        timeout: Seconds for each run.
        agree: Subjects whose bytes must be the same in every lane.
        files: Name to text of the files under {inputs}.
        runs: What is run, in order.
        expect: What must hold.
    """

    name: str
    title: str
    trace: str | None
    timeout: float
    agree: tuple[str, ...]
    files: dict[str, str]
    runs: tuple[Run, ...]
    expect: tuple[Expectation, ...]


def shipped_cases() -> list[Case]:
    """Return the cases that come with the harness, sorted by name."""
    folder = resources.files("harness.smoke").joinpath("cases")
    with resources.as_file(folder) as path:
        return load_cases(path)


def load_cases(folder: Path) -> list[Case]:
    """Read every case file of a folder; raises InputError at the first that is not sound."""
    cases = [case for path in sorted(folder.glob("*.toml")) for case in read_case(path)]
    return sorted(cases, key=lambda case: case.name)


def read_case(path: Path) -> list[Case]:
    """Read one file; raises InputError where it is malformed or asserts nothing."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        matrix = data.get("matrix", {})
        combinations = itertools.product(*matrix.values())
        return [
            _case(path.stem, data, dict(zip(matrix, values, strict=True)))
            for values in combinations
        ]
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=str(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"not an acceptance case: {text}", where=str(path), fix="see docs/smoke.md"
        ) from error


def _case(stem: str, data: dict[str, Any], chosen: dict[str, str]) -> Case:
    _only(data, CASE_KEYS)
    runs = tuple(_run(item, chosen) for item in data["run"])
    expect = tuple(_expectation(item, chosen) for item in data.get("expect", []))
    if not expect:
        raise ValueError("it asserts nothing: add an [[expect]]")
    if len({run.name for run in runs}) != len(runs):
        raise ValueError("two runs have one name")
    trace = _filled(data.get("trace"), chosen)
    if trace not in (None, *TRACES):
        raise ValueError(f"trace is {trace!r}, expected one of {', '.join(TRACES)}")
    return Case(
        name="-".join([stem, *chosen.values()]),
        title=_filled(data["title"], chosen),
        trace=trace,
        timeout=float(data.get("timeout", DEFAULT_TIMEOUT)),
        agree=tuple(data.get("agree", ())),
        files=dict(data.get("files", {})),
        runs=runs,
        expect=expect,
    )


def _run(item: dict[str, Any], chosen: dict[str, str]) -> Run:
    _only(item, RUN_KEYS)
    program = item.get("program", "replay-sim")
    if program not in get_args(Program):
        raise ValueError(f"program is {program!r}, expected one of {', '.join(get_args(Program))}")
    args = tuple(_filled(word, chosen) for word in item["args"])
    return Run(item.get("name", "run"), program, args)


def _expectation(item: dict[str, Any], chosen: dict[str, str]) -> Expectation:
    operators = sorted(item.keys() & OPERATORS.keys())
    if len(operators) != 1:
        raise ValueError(f"an expectation needs one of {', '.join(OPERATORS)}: {item}")
    _only(item, {"that", "because", operators[0]})
    if not str(item["because"]).strip():
        raise ValueError(f"an expectation says where its value comes from: {item}")
    operand = _filled(item[operators[0]], chosen)
    return Expectation(_filled(item["that"], chosen), operators[0], operand, item["because"])


def _only(item: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(item.keys() - known)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}")


def _filled(value: Any, chosen: dict[str, str]) -> Any:
    """Put the matrix values in place of {their names}; other braces stay."""
    if isinstance(value, list):
        return [_filled(item, chosen) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, chosen) for key, item in value.items()}
    if isinstance(value, str):
        for name, choice in chosen.items():
            value = value.replace(f"{{{name}}}", choice)
    return value
