"""Tables of measured pass times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import replay_sim
from replay_sim import config, planner
from tests.replay.conftest import Run, WriteTrace

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

TABLE = """part,requests,tokens,ms
prefill,,16,4
prefill,,48,12
decode,1,16,1
decode,1,116,2
decode,2,16,3
"""
POINTS = {
    "prefill": [[16, 4.0], [48, 12.0]],
    "decode": [
        {"requests": 1, "times": [[16, 1.0], [116, 2.0]]},
        {"requests": 2, "times": [[16, 3.0]]},
    ],
}


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    path = tmp_path / "passes.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def times(result: replay_sim.Result) -> list[tuple[float | None, float | None]]:
    return [(row["first_token_ms"], row["last_token_ms"]) for row in result.requests]


def test_the_points_are_in_the_document(measured: Path) -> None:
    timing = replay_sim.resolve_config(timing=f"table:{measured}")["engine"]["timing"]
    assert timing == {"type": "table", **POINTS, "extrapolation": "flag"}
    again = replay_sim.resolve_config({"engine": {"timing": timing}})
    assert again["engine"]["timing"] == timing


def test_lines_in_any_order_of_lines_and_columns_give_the_same(measured: Path) -> None:
    timing = replay_sim.resolve_config(timing=f"table:{measured}")["engine"]["timing"]
    cells = [line.split(",") for line in TABLE.splitlines()]
    lines = [",".join(reversed(row)) for row in (cells[0], *reversed(cells[1:]))]
    measured.write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    assert replay_sim.resolve_config(timing=f"table:{measured}")["engine"]["timing"] == timing


def test_a_pass_takes_the_interpolated_time(measured: Path, write_trace: WriteTrace) -> None:
    trace = write_trace((0, 32, 3, [1, 2]))
    result = replay_sim.run(trace, timing=f"table:{measured}", block_size=16, trace_block_size=16)
    # 32 tokens lie half the way; then contexts of 33 and 34 tokens.
    assert times(result)[0] == pytest.approx((8.0, 8 + 1.17 + 1.18))
    assert result.summary["extrapolated_passes"] == 0
    assert result.summary["forward_passes"] == 3


def test_a_pass_outside_of_the_points_is_counted(measured: Path, write_trace: WriteTrace) -> None:
    trace = write_trace((0, 64, 3, [1, 2, 3, 4]), (100, 16, 2, [9]))
    result = replay_sim.run(trace, timing=f"table:{measured}", block_size=16, trace_block_size=16)
    assert result.summary["mean_ttft_ms"] == (16 + 4) / 2
    assert result.summary["extrapolated_passes"] == 1
    assert result.summary["forward_passes"] == 5


def test_a_pass_outside_of_the_points_can_be_refused(
    measured: Path, write_trace: WriteTrace
) -> None:
    document: dict[str, Any] = {
        "trace": {"block_size": 16},
        "engine": {
            "block_size": 16,
            "timing": {"type": "table", "path": str(measured), "extrapolation": "refuse"},
        },
    }
    inside = write_trace((0, 48, 3, [1, 2, 3]))
    assert times(replay_sim.run(inside, config=document))[0][0] == 12
    outside = write_trace((0, 64, 3, [1, 2, 3, 4]))
    with pytest.raises(replay_sim.ConfigError, match="covers a pass of 64 prompt tokens and 0"):
        replay_sim.run(outside, config=document)


def test_the_path_is_relative_to_the_configuration_file(measured: Path) -> None:
    file = measured.parent / "c.json"
    timing = {"type": "table", "path": measured.name}
    file.write_text(json.dumps({"engine": {"timing": timing}}), encoding="utf-8")
    document, _ = config.load(file)
    assert document["engine"]["timing"]["prefill"] == [(16, 4.0), (48, 12.0)]
    assert "path" not in document["engine"]["timing"]


def test_a_planner_configuration_holds_the_points(measured: Path) -> None:
    checked = planner.validate(
        {
            "backend": "mocker",
            "sla": {"ttft_ms": 100},
            "performance_model": {"type": "table", "path": str(measured)},
        }
    )
    assert checked.performance_model.source.startswith("the measured times")
    assert "path" not in checked.performance_model.specification
    assert checked.replay["engine"]["timing"]["decode"] == POINTS["decode"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("prefill,,16,5", "this point is there already"),
        ("prefill,1,20,5", "does not depend on requests '1'"),
        ("decode,,20,5", "requests '' is not a count"),
        ("decode,1,0,5", "tokens '0' is not a count"),
        ("decode,1,2.5,5", "tokens '2.5' is not a count"),
        ("decode,1,9999999999,5", "tokens '9999999999' is not a count"),
        ("decode,1,20,-1", "ms '-1' is not a time"),
        ("decode,1,20,nan", "ms 'nan' is not a time"),
        ("decode,1,20,fast", "ms 'fast' is not a time"),
        ("decode,1,20", "3 cells in 4 columns"),
        ("encode,1,20,1", "part 'encode' is unknown"),
    ],
)
def test_a_wrong_line_is_named(measured: Path, line: str, message: str) -> None:
    measured.write_text(TABLE + line + "\n", encoding="utf-8")
    with pytest.raises(replay_sim.ConfigError, match=message) as caught:
        replay_sim.resolve_config(timing=f"table:{measured}")
    assert str(caught.value).startswith(f"{measured}:7: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the columns are missing"),
        ("part,tokens,ms\n", "the columns are part, tokens, ms"),
        ("part,requests,tokens,ms\nprefill,,1,1\n", "there is no decode time"),
        ("part,requests,tokens,ms\ndecode,1,1,1\n", "there is no prefill time"),
        ('part,requests,tokens,ms\n"', "not a CSV file"),
        ("\udcff", "not a CSV file"),
    ],
)
def test_a_wrong_file_is_refused(measured: Path, text: str, message: str) -> None:
    measured.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(replay_sim.ConfigError, match=message):
        replay_sim.resolve_config(timing=f"table:{measured}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(replay_sim.ConfigError, match=r"no\.csv: cannot be read"):
        replay_sim.resolve_config(timing=f"table:{tmp_path / 'no.csv'}")


@pytest.mark.parametrize(
    ("timing", "message"),
    [
        ({"path": 5}, "5 is not the one source"),
        ({"path": "a.csv", "prefill": []}, "is not the one source"),
        ({"prefill": [[2, 1], [1, 1]], "decode": []}, "engine.timing.prefill: 1 tokens follow 2"),
        ({"prefill": [[1, 1]], "decode": []}, "engine.timing.decode: there are no points"),
        ({"prefill": [[1, 1]]}, "missing field `decode`"),
    ],
)
def test_wrong_points_are_refused(timing: dict[str, Any], message: str) -> None:
    with pytest.raises(replay_sim.ConfigError, match=message):
        replay_sim.resolve_config({"engine": {"timing": {"type": "table", **timing}}})


def test_the_table_says_how_many_passes_are_outside(
    measured: Path, write_trace: WriteTrace, replay_sim_command: Run
) -> None:
    def printed(*row: Any) -> str:
        trace = write_trace(row)
        sizes = ("--block-size", 16, "--trace-block-size", 16)
        return replay_sim_command("run", trace, "--timing", f"table:{measured}", *sizes).stdout

    assert "outside of the measured points" not in printed(0, 32, 2, [1, 2])
    assert "50.00% of the passes lie outside" in printed(0, 64, 2, [1, 2, 3, 4])
