"""`replay-sim exec`: one JSON document in, one JSON document out, for other programs."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from replay_sim import api, planner
from replay_sim.cli import failures
from replay_sim.errors import ConfigError

EXAMPLE = '{"command": "run", "traces": ["trace.jsonl"], "config": {"cluster": {"workers": 4}}}'


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "exec",
        help="answer one JSON request from standard input, for other programs",
        description="Read one JSON document from standard input and write one to standard output: "
        '{"result": ...}, or {"error": {"kind", "message"}} with the exit code that the '
        f"other commands have. Commands: {', '.join(COMMANDS)}.",
        epilog=f"example: {EXAMPLE}",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Answer the request on standard input; return the exit code."""
    answer, code = execute(sys.stdin.buffer.read())
    # Sorted and without spaces: equal answers are equal bytes.
    sys.stdout.write(json.dumps(answer, sort_keys=True, separators=(",", ":")) + "\n")
    return code


def execute(request: bytes) -> tuple[dict[str, Any], int]:
    """Carry out one request; never raises. Returns the answer and the exit code."""
    try:
        return {"result": _carry_out(_parse(request))}, failures.OK
    except BaseException as error:
        failure = failures.of(error)
        if failure is None:
            traceback.print_exc()
            failure = failures.Failure("internal", failures.INTERNAL)
        return {"error": {"kind": failure.kind, "message": str(error)}}, failure.code


def _parse(request: bytes) -> dict[str, Any]:
    try:
        document = json.loads(request)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"request: not JSON: {error}\n  fix: send {EXAMPLE}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"request: not an object\n  fix: send {EXAMPLE}")
    return document


def _carry_out(request: dict[str, Any]) -> Any:
    name = request.pop("command", None)
    if not isinstance(name, str) or name not in COMMANDS:
        raise ConfigError(f"command: there is no {name!r}\n  fix: use one of {', '.join(COMMANDS)}")
    command, allowed = COMMANDS[name]
    for key, value in request.items():
        if key not in allowed:
            raise ConfigError(f"{key}: {name} has none\n  fix: use {', '.join(allowed)}")
        if not isinstance(value, KINDS[key]) or (KINDS[key] is int and isinstance(value, bool)):
            raise ConfigError(f"{key}: {value!r} is no {KINDS[key].__name__}\n  fix: see {EXAMPLE}")
    traces = request.pop("traces", [])
    if not all(isinstance(trace, str) for trace in traces):
        raise ConfigError('traces: not a list of file names\n  fix: write ["trace.jsonl"]')
    return command(traces, request)


def _run(traces: list[str], request: Mapping[str, Any]) -> dict[str, Any]:
    result = api.run(*traces, config=request.get("config"))
    rows = {"requests": result.requests} if request.get("requests") else {}
    return {"report": result.report, **rows}


def _plan(traces: list[str], request: Mapping[str, Any]) -> planner.Plan:
    return planner.plan(*traces, config=planner.validate(request.get("config", {})))


def _validate(traces: list[str], request: Mapping[str, Any]) -> dict[str, Any]:
    limit = {"limit": request["limit"]} if "limit" in request else {}
    return api.validate(*traces, config=request.get("config"), **limit)._asdict()


Command = Callable[[list[str], Mapping[str, Any]], Any]

#: What each key of a request holds.
KINDS: Mapping[str, type] = {"traces": list, "config": dict, "requests": bool, "limit": int}
#: Each command, and the keys that it knows.
COMMANDS: Mapping[str, tuple[Command, tuple[str, ...]]] = {
    "run": (_run, ("traces", "config", "requests")),
    "plan": (_plan, ("traces", "config")),
    "inspect": (
        lambda traces, request: api.inspect(*traces, config=request.get("config")),
        ("traces", "config"),
    ),
    "validate": (_validate, ("traces", "config", "limit")),
    "resolve-config": (
        lambda _, request: api.resolve_config(request.get("config")),
        ("config",),
    ),
}
