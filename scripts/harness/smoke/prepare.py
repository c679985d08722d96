"""Checking a lane before cases are run in it: probe, collect the facts, judge them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.smoke import checks, gpu
from harness.smoke.facts import Facts
from harness.smoke.install import Installation
from harness.smoke.lanes.image import SCRIPTS, ImageLane
from harness.smoke.lanes.lane import Lane, workspace
from harness.smoke.outcome import Outcome
from harness.smoke.result import Result, judged
from harness.wheels.first_party import PACKAGES
from harness.wheels.manifest import Manifest
from harness.wheels.wheel import Wheel

PROBE_SECONDS = 60
# Orchestrators start images under ids of their own.
STRANGER = "54321:54321"
# The probes, as the host sees them; containers see the same folder as SCRIPTS.
SCRIPT_FOLDER = Path(__file__).parent / "probes"


@dataclass(frozen=True)
class WheelhouseUnderTest:
    """The wheelhouse, its manifest, and its wheels by distribution name."""

    folder: Path
    manifest: Manifest
    wheels: dict[str, Wheel]


@dataclass(frozen=True)
class Prepared:
    """A lane's checks, and the lane itself where cases can be run in it."""

    lane: Lane | None
    results: list[Result]


def prepare_image(lane: ImageLane, house: WheelhouseUnderTest, port: int) -> Prepared:
    """Check an image against the house, and its GPU parts where it has them."""
    results = check_lane(lane, Path(SCRIPTS), house, port, image=lane)
    results.append(_any_user(lane))
    if lane.kind == "gpu":
        results += gpu.results(lane)
    return Prepared(lane, results)


def _any_user(lane: ImageLane) -> Result:
    with workspace({}, None) as work:
        stranger = replace(lane, user=STRANGER)
        outcome = stranger.run("replay-sim", ["--version"], work=work, timeout=PROBE_SECONDS)
    failed = outcome.exit_code != 0
    problems = [f"exit {outcome.exit_code} as {STRANGER}: {outcome.tail()}"] if failed else []
    title = "a user that the image does not know can run it"
    return judged(lane.name, "any-user", title, problems, (outcome,))


def run_probe(
    lane: Lane, scripts: Path, port: int, packages: Sequence[str]
) -> tuple[Outcome, dict[str, Any] | None]:
    """Run probe.py isolated from environment variables and the current folder."""
    args = ["-I", str(scripts / "probe.py"), str(port), *packages]
    with workspace({}, None) as work:
        outcome = lane.run("python", args, work=work, timeout=PROBE_SECONDS)
    try:
        return outcome, json.loads(outcome.stdout)
    except ValueError:
        return outcome, None


def no_facts(outcome: Outcome) -> str:
    """Return the problem of a probe that gave no facts."""
    return f"the probe ended with {outcome.exit_code} and no facts: {outcome.tail()}"


def check_lane(
    lane: Lane,
    scripts: Path,
    house: WheelhouseUnderTest,
    port: int,
    *,
    installation: Installation | None = None,
    image: ImageLane | None = None,
) -> list[Result]:
    """Collect the facts of a lane and judge them; `scripts` is the probes' folder as it sees it."""
    outcome, found = run_probe(lane, scripts, port, tuple(PACKAGES.values()))
    if found is None:
        title = "the environment can be probed"
        return [judged(lane.name, "probe", title, [no_facts(outcome)], (outcome,))]
    with workspace({}, None) as work:
        version, usage = (
            lane.run("replay-sim", [flag], work=work, timeout=PROBE_SECONDS)
            for flag in ("--version", "--help")
        )
    facts = Facts(
        kind=lane.kind,
        manifest=house.manifest,
        wheels=house.wheels,
        probe=found,
        version=version,
        usage=usage,
        installation=installation,
        image=image.facts if image else None,
    )
    return [
        judged(lane.name, checks.name_of(c), c.TITLE, checks.judge(c, facts), (outcome,))
        for c in checks.for_kind(lane.kind)
    ]
