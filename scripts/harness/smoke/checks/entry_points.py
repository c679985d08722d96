"""The commands are there and start."""

from __future__ import annotations

from collections.abc import Iterator

from harness.smoke.facts import Facts

TITLE = "the commands of our wheels are installed and run"
KINDS = ("host", "cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield commands that are not installed or do not run."""
    for entry, _ in facts.own():
        expected = facts.wheels[entry.name].console_scripts
        installed = facts.installed.get(entry.name, {"scripts": {}})["scripts"]
        for command in expected:
            if not installed.get(command):
                yield f"{command} of {entry.name} is not installed"
    if "replay-sim" not in facts.wheels["replay-sim"].console_scripts:
        yield "the wheel of replay-sim declares no command replay-sim"
    for outcome in (facts.version, facts.usage):
        if outcome.exit_code != 0 or not outcome.stdout.strip():
            said = outcome.tail().splitlines()[-1:]
            yield f"replay-sim {outcome.command[-1]}: exit {outcome.exit_code}: {said}"
