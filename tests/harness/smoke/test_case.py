"""Case files: read whole, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.smoke.case import load_cases, read_case

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

SOUND = """
title = "A case"
trace = "sample"
timeout = 7
agree = ["stdout"]
[files]
"a.jsonl" = "{}"
[[run]]
args = ["run", "{trace}"]
[[expect]]
that = "exit-code"
is = 0
because = "it runs"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "case.toml"
    path.write_text(text, "utf-8")
    return path


def test_sound(tmp_path: Path) -> None:
    (case,) = read_case(write(tmp_path, SOUND))
    assert (case.name, case.title, case.trace, case.timeout) == ("case", "A case", "sample", 7.0)
    assert case.runs[0].name == "run"
    assert case.runs[0].program == "replay-sim"
    assert case.runs[0].args == ("run", "{trace}")
    assert case.files == {"a.jsonl": "{}"}
    expectation = case.expect[0]
    assert (expectation.that, expectation.operator, expectation.operand) == ("exit-code", "is", 0)


def test_matrix_is_one_case_for_each_combination(tmp_path: Path) -> None:
    text = SOUND.replace('"{trace}"]', '"{engine}", "{mode}", "{trace}"]').replace(
        "[files]", '[matrix]\nengine = ["vllm", "sglang"]\nmode = ["agg", "disagg"]\n[files]'
    )
    write(tmp_path, text)
    cases = load_cases(tmp_path)
    assert [case.name for case in cases] == [
        "case-sglang-agg",
        "case-sglang-disagg",
        "case-vllm-agg",
        "case-vllm-disagg",
    ]
    assert cases[2].runs[0].args == ("run", "vllm", "agg", "{trace}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SOUND[SOUND.index("[[expect]]") :], "", "it asserts nothing"),
        ('because = "it runs"', "", "because is missing"),
        ('because = "it runs"', 'because = " "', "says where its value comes from"),
        ("is = 0", "", "an expectation needs one of"),
        ("is = 0", "is = 0\nat-least = 0", "an expectation needs one of"),
        ("is = 0", "is = 0\nisnt = 1", "unknown key 'isnt'"),
        ("timeout = 7", "time = 7", "unknown key 'time'"),
        ('trace = "sample"', 'trace = "other"', "trace is 'other'"),
        ('title = "A case"', "", "title is missing"),
        ("[[run]]", "[run]", "not an acceptance case"),
        ("args =", "words =", "unknown key 'words'"),
        ("args =", 'program = "sh"\nargs =', "program is 'sh'"),
        ("[[expect]]", '[[run]]\nargs = ["x"]\n[[expect]]', "two runs have one name"),
        ("title =", "title ==", "not TOML"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert SOUND.count(old) == 1
    path = write(tmp_path, SOUND.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        read_case(path)
    assert caught.value.where == str(path)
