"""The four output formats, and the command's exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cli import main
from tests.harness.pins.trees import CASES, load_cases, write

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

SARIF = json.loads(Path(__file__).with_name("sarif-2.1.0-subset.schema.json").read_text("utf-8"))
# A sample: formats see findings, not what they are about.
NAMES = [case.name for case in load_cases(CASES)][::6]
VALIDATOR = jsonschema.Draft202012Validator(SARIF, format_checker=jsonschema.FormatChecker())
LINE = re.compile(
    r"::(error|warning|notice) file=([^,]+),line=(\d+),col=(\d+),title=([a-z0-9-]+)::"
)


def check(root: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["pins", "check", "--root", str(root), "--format", kind])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_sarif_is_valid(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = check(CASES / name / "tree", "sarif", capsys)
    document: dict[str, Any] = json.loads(text)
    VALIDATOR.validate(document)
    run = document["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    assert code == (1 if any(r["level"] in ("error", "warning") for r in run["results"]) else 0)


def test_the_sarif_schema_refuses_what_is_wrong() -> None:
    good: dict[str, Any] = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}}]}
    VALIDATOR.validate(good)
    bad = good | {"runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"level": "fatal"}]}]}
    for document in (good | {"version": "2.0"}, bad, good | {"extra": 1}):
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(document)


@pytest.mark.parametrize("name", NAMES)
def test_json_github_and_text_say_the_same(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = CASES / name / "tree"
    code, text = check(root, "json", capsys)
    document: dict[str, Any] = json.loads(text)
    found = [
        (f["severity"].replace("note", "notice"), f["file"], str(f["line"]), f["code"])
        for f in document["findings"]
    ]
    _, annotations = check(root, "github", capsys)
    shown = [(m[1], m[2], m[3], m[5]) for m in LINE.finditer(annotations)]
    assert shown == found
    _, plain = check(root, "text", capsys)
    assert all(f"{file}:{line}:" in plain for _, file, line, _ in found)
    summary = document["summary"]
    assert summary["errors"] == sum(item[0] == "error" for item in found)
    assert summary["clean"] is (code == 0)


def test_json_has_every_field_of_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, {"requirements.txt": "\n  sim==0.12.0\n"})
    code, text = check(root, "json", capsys)
    assert code == 1
    found = [item for item in json.loads(text)["findings"] if item["severity"] != "note"]
    assert found == [
        {
            "code": "version-off-pin",
            "severity": "error",
            "file": "requirements.txt",
            "line": 2,
            "column": 8,
            "message": "requirement: sim is 0.12.0, pin 'simulator' says 0.13.0",
            "expected": "0.13.0",
            "found": "0.12.0",
            "related": [{"file": "deps/pins.toml", "line": 7}],
            "fix": "harness pins sync",
        }
    ]


def test_annotations_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, {"50%, a:b/requirements.txt": "sim==0.12.0\n"})
    _, text = check(root, "github", capsys)
    assert "file=50%25%2C a%3Ab/requirements.txt,line=1" in text
    assert "%0Afix: harness pins sync" in text


def test_the_same_input_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    root = CASES / "bake-and-compose" / "tree"
    for kind in ("text", "json", "github", "sarif"):
        assert check(root, kind, capsys) == check(root, kind, capsys)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "--root", "/nowhere/at/all"], 2),
        (["check", "--pins", "/nowhere/pins.toml"], 2),
        (["explain", "nothing-of-that-name"], 2),
        (["bump", "nothing-of-that-name", "1.0"], 2),
    ],
)
def test_bad_input_is_exit_code_two(
    words: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path, {})
    words = words if "--root" in words else [*words, "--root", str(root)]
    assert main(["pins", *words]) == code
    assert "error:" in capsys.readouterr().err


def test_a_repository_without_pins_is_told_how_to_get_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pins", "check", "--root", str(tmp_path)]) == 2
    assert "harness pins discover" in capsys.readouterr().err
