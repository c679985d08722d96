"""The `replay-sim` command: output, files, errors, signals."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import replay_sim
from tests.replay.conftest import COMMAND, Run

pytestmark = [pytest.mark.pre_merge, pytest.mark.e2e, pytest.mark.gpu_0]


def test_the_version_names_the_source_revision(replay_sim_command: Run) -> None:
    done = replay_sim_command("--version")
    revision = replay_sim.__revision__
    assert done.stdout == f"replay-sim {replay_sim.__version__} (source {revision})\n"


def test_the_shipped_sample_is_what_the_command_writes(
    replay_sim_command: Run, sample: Path, tmp_path: Path
) -> None:
    assert replay_sim_command("sample", "-o", tmp_path / "again.jsonl").returncode == 0
    assert (tmp_path / "again.jsonl").read_bytes() == sample.read_bytes()
    other = replay_sim_command("sample", "--requests", 5, "--seed", 2)
    assert len(other.stdout.splitlines()) == 5
    assert other.stdout != replay_sim_command("sample", "--requests", 5, "--seed", 3).stdout


@pytest.mark.parametrize("router", ["round_robin", "kv_router"])
def test_a_replay_prints_a_table_and_writes_files(
    replay_sim_command: Run, sample: Path, tmp_path: Path, router: str
) -> None:
    report, requests = tmp_path / "report.json", tmp_path / "requests.jsonl"
    done = replay_sim_command(
        "run", sample, "--workers", 4, "--router", router,
        "--report", report, "--requests", requests,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "200 of 200 completed" in done.stdout
    assert f"router {router}" in done.stdout
    for label in ("TTFT", "ITL, pooled", "ITL, request", "E2E"):
        assert label in done.stdout
    assert "\x1b" not in done.stdout
    assert json.loads(report.read_text())["summary"]["completed_requests"] == 200
    assert len(requests.read_text().splitlines()) == 200
    assert {path.name for path in tmp_path.iterdir()} == {"report.json", "requests.jsonl"}


def test_a_narrow_terminal_cuts_no_digits(
    replay_sim_command: Run, write_trace: Callable[..., Path]
) -> None:
    trace = write_trace((0, 16, 3, [1]))
    arguments = (
        "run", trace, "--trace-block-size", 16, "--block-size", 16,
        "--timing", "fixed:9876543.5,1234567.5",
    )  # fmt: skip
    done = replay_sim_command(*arguments, env=os.environ | {"COLUMNS": "40"})
    assert "9,876,544" in done.stdout
    assert "1,234,568" in done.stdout
    assert "…" not in done.stdout


def test_json_output_is_the_report_and_two_processes_agree(
    replay_sim_command: Run, sample: Path, tmp_path: Path
) -> None:
    arguments = ("run", sample, "--workers", 4, "--router", "kv_router", "--format", "json")
    outputs = [
        replay_sim_command(*arguments, "--report", tmp_path / "report.json", env=env).stdout
        for env in (os.environ | {"PYTHONHASHSEED": "1"}, os.environ | {"PYTHONHASHSEED": "2"})
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0] == (tmp_path / "report.json").read_text()


def test_a_configuration_file_is_enough(
    replay_sim_command: Run, sample: Path, tmp_path: Path
) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f"[trace]\npaths = ['{sample}']\n[cluster]\nworkers = 3\n", encoding="utf-8")
    done = replay_sim_command("run", "-c", path, "--format", "json", "--seed", 9)
    configuration = json.loads(done.stdout)["configuration"]
    assert configuration["cluster"]["workers"] == 3
    assert configuration["seed"] == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workers", 0), "cluster.workers: 0 workers can never serve a request"),
        (("--block-size", 48), "48 does not divide trace.block_size 512"),
        (("--speedup", "nan"), "load.speedup"),
        (("--speedup", "-1"), "load.speedup"),
        (("--concurrency", 0), "nothing ever starts"),
        (("--max-sim-time", 0), "stop.max_sim_time_ms"),
        (("--timing", "guess"), "is not a timing model"),
        (("--page-size", 2), "unrecognized arguments"),
        (("--work", 2), "unrecognized arguments"),
        (("--router", "random"), "invalid choice"),
        (("--report", "/nowhere/report.json"), "its folder does not exist"),
        (("--report", "."), "is a directory"),
        (("-c", "nowhere.toml"), "nowhere.toml: cannot be read"),
    ],
)
def test_wrong_arguments_are_refused(
    replay_sim_command: Run, sample: Path, arguments: tuple[object, ...], message: str
) -> None:
    done = replay_sim_command("run", sample, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_wrong_line_is_named_and_nothing_is_written(
    replay_sim_command: Run, sample: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(sample.read_text() + '{"timestamp": 1, "input_length": 0}\n', encoding="utf-8")
    target = tmp_path / "report.json"
    target.write_text("old", encoding="utf-8")
    done = replay_sim_command("run", bad, "--report", target, "--requests", tmp_path / "r.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{bad}:201: input_length is 0; expected a whole number of tokens" in done.stderr
    assert "fix:" in done.stderr
    assert target.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"bad.jsonl", "report.json"}


def test_a_trace_that_is_not_there_is_named(replay_sim_command: Run) -> None:
    done = replay_sim_command("run", "/nowhere.jsonl")
    assert done.returncode == 2
    assert "/nowhere.jsonl: cannot be read" in done.stderr
    assert replay_sim_command("run").returncode == 2


def test_inspect_prints_a_table_or_json(replay_sim_command: Run, sample: Path) -> None:
    done = replay_sim_command("inspect", sample)
    assert (done.returncode, done.stderr) == (0, "")
    assert "60 of up to 8 turns" in done.stdout
    found = json.loads(replay_sim_command("inspect", sample, "--format", "json").stdout)
    assert found == replay_sim.inspect(sample)


def test_validate_names_every_wrong_line(
    replay_sim_command: Run, sample: Path, tmp_path: Path
) -> None:
    done = replay_sim_command("validate", sample)
    assert (done.returncode, done.stdout) == (0, "200 requests, 0 wrong lines\n")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{\n" * 101 + sample.read_text(encoding="utf-8"), encoding="utf-8")
    done = replay_sim_command("validate", bad)
    assert done.returncode == 1
    assert f"{bad}:100: not a JSON object" in done.stdout
    assert "200 requests, 101 wrong lines (1 of them not shown)" in done.stdout
    assert replay_sim_command("validate", tmp_path / "none.jsonl").returncode == 2


def test_an_azure_table_is_replayed(replay_sim_command: Run, tmp_path: Path) -> None:
    table = tmp_path / "azure.csv"
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
    table.write_text(text, encoding="utf-8")
    done = replay_sim_command("run", table, "--trace-format", "azure", "--format", "json")
    assert json.loads(done.stdout)["summary"]["total_input_tokens"] == 4808
    assert replay_sim_command("run", table).returncode == 2


def test_warnings_go_to_standard_error(
    replay_sim_command: Run, sample: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.jsonl"
    odd.write_text(sample.read_text().replace('"output', '"colour": 1, "output'), encoding="utf-8")
    done = replay_sim_command("run", odd, "--format", "json")
    assert done.returncode == 0
    assert f"{odd}:1: unknown field" in done.stderr
    assert "199 more like it" in done.stderr
    assert "unknown field" not in replay_sim_command("run", sample).stderr


def _read_terminal(master: int) -> str:
    """Everything that is written to a terminal until its other side is closed."""
    output = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            # Linux reports the end of a terminal as an error.
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    return output.decode()


def _on_a_terminal(arguments: list[str], env: dict[str, str]) -> str:
    """What a command writes when its standard output is a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(arguments, stdout=slave, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(slave)
        output = _read_terminal(master)
        assert process.wait(timeout=60) == 0
    return output


def test_colour_on_a_terminal_unless_refused(sample: Path) -> None:
    arguments = [str(COMMAND), "run", str(sample)]
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    env |= {"TERM": "xterm-256color", "COLUMNS": "100"}
    colour = re.compile("\x1b\\[[0-9;]*[349][0-9]")
    assert colour.search(_on_a_terminal(arguments, env))
    plain = _on_a_terminal(arguments, env | {"NO_COLOR": "1"})
    assert not colour.search(plain)
    assert "200 of 200 completed" in plain


def _wait_for_cpu_seconds(pid: int, seconds: float) -> None:
    """Wait until a process is well inside its work; one that works for minutes gets there."""
    ticks = seconds * os.sysconf("SC_CLK_TCK")
    while True:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        if int(fields[11]) >= ticks:
            return
        time.sleep(0.05)


def _endless(trace: Path) -> list[str]:
    return [
        str(COMMAND), "run", str(trace), "--trace-block-size", "16", "--block-size", "16",
        "--num-gpu-blocks", str(2**24), "--timing", "fixed:10,1",
    ]  # fmt: skip


@pytest.fixture
def endless_trace(write_trace: Callable[..., Path]) -> Path:
    """A trace whose replay takes minutes."""
    return write_trace(*[(index, 16, 250_000_000, [1]) for index in range(20)])


def test_an_interrupt_ends_a_replay_and_leaves_no_file(tmp_path: Path, endless_trace: Path) -> None:
    report, requests = tmp_path / "report.json", tmp_path / "r.jsonl"
    command = [*_endless(endless_trace), "--report", str(report), "--requests", str(requests)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        _wait_for_cpu_seconds(process.pid, 1.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    # Nothing but the message: no progress where nobody looks.
    assert errors == "error: interrupted; nothing was written\n"
    assert {path.name for path in tmp_path.iterdir()} == {"trace.jsonl"}


def test_a_long_replay_shows_its_progress_on_a_terminal(endless_trace: Path) -> None:
    master, slave = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(_endless(endless_trace), stderr=slave, env=env) as process:
        os.close(slave)
        # Read all the time: a terminal that nobody reads makes the command wait.
        seen: list[str] = []
        reader = threading.Thread(target=lambda: seen.append(_read_terminal(master)))
        reader.start()
        _wait_for_cpu_seconds(process.pid, 1.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        reader.join(timeout=60)
    for part in ("0/20 requests", "s simulated", "interrupted"):
        assert part in seen[0]
