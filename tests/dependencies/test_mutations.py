"""Every claim of this repository, put off its pin, is found at its place; sync puts it back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.pins import fix
from harness.pins.repository import Repository
from tests.dependencies.mutants import (
    Mutant,
    caught,
    findings_of,
    locked,
    open_tree,
    pinned,
    points_at,
    recorded,
    required,
    with_file,
)
from tests.harness.pins.trees import CASES, load_cases

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.unit,
    pytest.mark.gpu_0,
    pytest.mark.timeout(600),
]


def kill(mutants: Iterator[tuple[Repository, Mutant]]) -> tuple[int, int, list[str]]:
    """Return how many mutants there were, how many sync put back, and what went wrong."""
    total = restored = 0
    wrong = []
    for repository, mutant in mutants:
        total += 1
        tree = with_file(repository, mutant.file, mutant.data)
        findings = findings_of(tree)
        if not caught(mutant, findings):
            wrong.append(f"survived: {mutant}")
            continue
        plan = fix.plan(tree)
        places = [(finding.file, finding.line) for finding in plan.refused]
        after = plan.after.get(mutant.file, mutant.data)
        if after == mutant.judgement.document.data:
            restored += 1
        elif (mutant.file, mutant.line) not in places:
            wrong.append(f"neither put back nor refused: {mutant}")
    return total, restored, wrong


def report(
    what: str, result: tuple[int, int, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    total, restored, wrong = result
    survived = sum(text.startswith("survived") for text in wrong)
    with capsys.disabled():
        rate = 100 * (total - survived) / total
        print(f"\n{what}: {total - survived} of {total} mutants killed ({rate:.0f} %), ", end="")
        print(f"{restored} put back byte for byte, {total - restored} refused by name")
    assert wrong == []


def test_this_repository(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = open_tree(checkout)
    mutants = list(pinned(repository))
    files = {mutant.file for mutant in mutants}
    assert {"Cargo.toml", "Cargo.lock", "pyproject.toml", "deps/build.in"} <= files
    assert {".github/workflows/pre-merge.yml", "crates/replay-py/pyproject.toml"} <= files
    report("this repository", kill((repository, mutant) for mutant in mutants), capsys)


def test_what_no_pin_decides_is_held_by_the_record(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = open_tree(checkout)
    mutants = list(recorded(repository))
    assert len(mutants) > 300
    files = {mutant.file for mutant in mutants}
    assert {"Cargo.lock", "Cargo.toml", "deps/dev.txt", "deps/debian-builder.lock"} <= files
    # Every fiftieth alone: the rule looks at each value by itself.
    report("the record", kill((repository, mutant) for mutant in mutants[::50]), capsys)


def test_fixtures(capsys: pytest.CaptureFixture[str]) -> None:
    """The clean trees hold every form that the readers know."""

    def mutants() -> Iterator[tuple[Repository, Mutant]]:
        for case in load_cases(CASES):
            if case.clean:
                repository = open_tree(case.tree)
                yield from ((repository, mutant) for mutant in pinned(repository))

    result = kill(mutants())
    report("clean fixtures", result, capsys)
    assert result[0] > 100


def test_unpinned_requirements_are_held_by_the_locks(checkout: Path) -> None:
    """A lock finding names the line of the requirement that it does not satisfy."""
    repository = open_tree(checkout)
    mutants = list(required(repository))
    assert len(mutants) >= 7
    for mutant in mutants:
        findings = findings_of(with_file(repository, mutant.file, mutant.data))
        assert points_at(mutant, findings), str(mutant)


def test_layered_locks_hold_each_other(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything that deps/harness.txt locks stands in deps/dev.txt too: either change is found."""
    repository = open_tree(checkout)
    narrow = list(locked(repository, "deps/harness.txt"))
    names = {mutant.judgement.claim.name for mutant in narrow}
    wide = [m for m in locked(repository, "deps/dev.txt") if m.judgement.claim.name in names]
    assert len(narrow) == len(wide) >= 10
    for mutant in (*narrow, *wide):
        findings = findings_of(with_file(repository, mutant.file, mutant.data))
        assert caught(mutant, findings) or points_at(mutant, findings), str(mutant)
    with capsys.disabled():
        print(f"\nlayered locks: {2 * len(narrow)} of {2 * len(narrow)} mutants killed (100 %)")
