"""Preparing a lane: install or inspect, probe, check. What comes out is a lane that can be used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.smoke import checks, gpu
from harness.smoke.facts import Facts
from harness.smoke.install import Installation, install, make_environment
from harness.smoke.lanes.host import HostLane, Interpreter
from harness.smoke.lanes.image import SCRIPTS, ImageLane
from harness.smoke.lanes.lane import Lane, workspace
from harness.smoke.offline import Cut
from harness.smoke.outcome import Outcome
from harness.smoke.result import Result, judged
from harness.wheels.first_party import PACKAGES
from harness.wheels.manifest import Manifest
from harness.wheels.wheel import Wheel

PROBE_SECONDS = 60
ROUTER = "kv-router"
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


def prepare_host(
    name: str,
    interpreter: Interpreter,
    folder: Path,
    house: WheelhouseUnderTest,
    cut: Cut,
    port: int,
) -> Prepared:
    """Install the house into a fresh environment, and the router alone into another."""
    environment = make_environment(interpreter, folder / "all")
    installation = install(environment, house.folder, house.manifest.wheels, cut)
    result = judged(
        name,
        "install",
        "the wheelhouse installs into a clean environment, offline, by its hashes",
        _install_problems(installation),
        (installation.outcome,),
    )
    if result.verdict == "failed":
        return Prepared(None, [result])
    lane = HostLane(name, environment, cut)
    checked = _check(lane, SCRIPT_FOLDER, house, port, installation=installation)
    alone = _router_alone(name, interpreter, folder / "router", house, cut, port)
    return Prepared(lane, [result, alone, *checked])


def prepare_image(lane: ImageLane, house: WheelhouseUnderTest, port: int) -> Prepared:
    """Check an image against the house, and its GPU parts where it has them."""
    results = _check(lane, Path(SCRIPTS), house, port, image=lane)
    if lane.kind == "gpu":
        results += gpu.results(lane)
    return Prepared(lane, results)


def _install_problems(installation: Installation) -> list[str]:
    outcome = installation.outcome
    if outcome.exit_code == 0:
        return []
    # pip explains a conflict on standard output, and only names it on standard error.
    said = (outcome.stdout[-2000:] + outcome.stderr[-2000:]).decode("utf-8", "replace")
    return [f"pip ended with {outcome.exit_code}: {said.strip()}"]


def _probe(
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


def _no_facts(outcome: Outcome) -> str:
    return f"the probe ended with {outcome.exit_code} and no facts: {outcome.tail()}"


def _check(
    lane: Lane,
    scripts: Path,
    house: WheelhouseUnderTest,
    port: int,
    *,
    installation: Installation | None = None,
    image: ImageLane | None = None,
) -> list[Result]:
    outcome, found = _probe(lane, scripts, port, tuple(PACKAGES.values()))
    if found is None:
        title = "the environment can be probed"
        return [judged(lane.name, "probe", title, [_no_facts(outcome)], (outcome,))]
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


def _router_alone(
    name: str,
    interpreter: Interpreter,
    folder: Path,
    house: WheelhouseUnderTest,
    cut: Cut,
    port: int,
) -> Result:
    entries = [entry for entry in house.manifest.wheels if entry.name == ROUTER]
    environment = make_environment(interpreter, folder)
    installation = install(environment, house.folder, entries, cut)
    problems = _install_problems(installation)
    outcomes = [installation.outcome]
    if not problems:
        lane = HostLane(name, environment, cut)
        outcome, found = _probe(lane, SCRIPT_FOLDER, port, [PACKAGES[ROUTER]])
        outcomes.append(outcome)
        problems = _alone_problems(found) if found else [_no_facts(outcome)]
    title = "the router's wheel installs and works without any other"
    return judged(name, "install-router-alone", title, problems, tuple(outcomes))


def _alone_problems(found: dict[str, Any]) -> list[str]:
    installed = sorted(distribution["name"] for distribution in found["distributions"])
    problems = [] if installed == [ROUTER] else [f"expected {ROUTER} alone, found {installed}"]
    error = found["packages"][PACKAGES[ROUTER]]["error"]
    return [*problems, f"it can't be imported: {error}"] if error else problems
