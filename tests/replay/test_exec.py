"""`replay-sim exec`: one JSON document in, one out, errors as JSON too."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import replay_sim

from .conftest import COMMAND

pytestmark = [pytest.mark.pre_merge, pytest.mark.integration, pytest.mark.gpu_0]


def ask(request: Any) -> tuple[dict[str, Any], int]:
    text = request if isinstance(request, bytes) else json.dumps(request).encode()
    done = subprocess.run([COMMAND, "exec"], input=text, capture_output=True, timeout=60)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1
    return json.loads(done.stdout), done.returncode


def test_a_run_is_the_run_of_the_api(sample: Path) -> None:
    config = {"cluster": {"workers": 3}, "router": {"policy": "kv_router"}}
    request = {"command": "run", "traces": [str(sample)], "config": config, "requests": True}
    answer, code = ask(request)
    result = replay_sim.run(sample, config=config)
    assert code == 0
    assert answer == {"result": {"report": result.report, "requests": result.requests}}
    del request["requests"]
    assert set(ask(request)[0]["result"]) == {"report"}


def test_every_other_command_answers_as_the_api(sample: Path) -> None:
    traces = {"traces": [str(sample)]}
    assert ask({"command": "inspect", **traces}) == ({"result": replay_sim.inspect(sample)}, 0)
    assert ask({"command": "resolve-config"}) == ({"result": replay_sim.resolve_config()}, 0)
    valid = {"messages": [], "wrong": 0, "requests": 200}
    assert ask({"command": "validate", "limit": 3, **traces}) == ({"result": valid}, 0)
    config = {"backend": "vllm", "sla": {"ttft_ms": 1000}, "goodput": 0.5}
    planned, code = ask({"command": "plan", "config": config, **traces})
    assert (planned["result"]["schema"], code) == ("replay-sim/plan/v1", 0)


@pytest.mark.parametrize(
    ("request_text", "kind", "code", "words"),
    [
        (b"", "config", 2, "not JSON"),
        (b"\xff", "config", 2, "not JSON"),
        (b"[" * 100_000, "config", 2, "not JSON"),
        (b"[]", "config", 2, "not an object"),
        (b'{"command": "fly"}', "config", 2, "use one of run, plan"),
        (b'{"command": "run", "trace": []}', "config", 2, "trace: run has none"),
        (b'{"command": "run", "traces": "a"}', "config", 2, "traces: 'a' is no list"),
        (b'{"command": "run", "traces": [1]}', "config", 2, "not a list of file names"),
        (b'{"command": "run", "traces": []}', "config", 2, "no file given"),
        (b'{"command": "run", "traces": ["/nowhere.jsonl"]}', "trace", 2, "cannot be read"),
        (b'{"command": "resolve-config", "config": {"sed": 1}}', "config", 2, "mean seed?"),
        (b'{"command": "plan", "traces": ["a"]}', "config", 2, "backend: is missing"),
    ],
)
def test_errors_are_json(request_text: bytes, kind: str, code: int, words: str) -> None:
    answer, found = ask(request_text)
    assert (set(answer), found) == ({"error"}, code)
    assert answer["error"]["kind"] == kind
    assert words in answer["error"]["message"]
    assert "fix:" in answer["error"]["message"]


def test_equal_requests_give_equal_bytes(sample: Path) -> None:
    text = json.dumps({"command": "run", "traces": [str(sample)]}).encode()
    done = [
        subprocess.run([COMMAND, "exec"], input=text, capture_output=True, timeout=60).stdout
        for _ in range(2)
    ]
    assert done[0] == done[1]
    keys = list(json.loads(done[0])["result"]["report"])
    assert keys == sorted(keys)
