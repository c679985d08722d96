"""The host lane's installs: the whole house, the router alone, and everything removed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.smoke.install import (
    Installation,
    Origin,
    folder_of_wheels,
    install,
    make_environment,
    pip_failure,
    uninstall,
)
from harness.smoke.lanes.host import HostLane, Interpreter
from harness.smoke.offline import Cut
from harness.smoke.prepare import (
    SCRIPT_FOLDER,
    Prepared,
    WheelhouseUnderTest,
    check_lane,
    no_facts,
    run_probe,
)
from harness.smoke.result import Result, judged
from harness.wheels.first_party import PACKAGES
from harness.wheels.manifest import Entry

ROUTER = "kv-router"


@dataclass(frozen=True)
class Bench:
    """Where the installs of one lane are made, and from what.

    `cut` takes the network from everything that is installed, `fetch` from pip; the wheels come
    from `origin`.
    """

    name: str
    interpreter: Interpreter
    folder: Path
    house: WheelhouseUnderTest
    cut: Cut
    origin: Origin
    fetch: Cut

    def install(self, purpose: str, entries: Sequence[Entry]) -> tuple[Path, Installation]:
        """Install some of the wheels into a fresh environment."""
        environment = make_environment(self.interpreter, self.folder / purpose)
        return environment, install(environment, self.origin, entries, self.fetch)


def offline_bench(
    name: str, interpreter: Interpreter, folder: Path, house: WheelhouseUnderTest, cut: Cut
) -> Bench:
    """Return a bench that installs from the wheelhouse itself, and has no network for anything."""
    return Bench(name, interpreter, folder, house, cut, folder_of_wheels(house.folder), cut)


def prepare_host(bench: Bench, port: int) -> Prepared:
    """Install and check; the lane that comes out is the environment that holds everything."""
    prepared = install_everything(bench, port)
    if prepared.lane is None:
        return prepared
    return Prepared(
        prepared.lane, [*prepared.results, _router_alone(bench, port), _uninstall(bench)]
    )


def install_everything(bench: Bench, port: int) -> Prepared:
    """Install the whole house into a fresh environment, and check what came of it."""
    environment, installation = bench.install("all", bench.house.manifest.wheels)
    result = judged(
        bench.name,
        "install",
        "the wheelhouse installs into a clean environment, by its hashes",
        pip_failure(installation.outcome),
        (installation.outcome,),
    )
    if result.verdict == "failed":
        return Prepared(None, [result])
    lane = HostLane(bench.name, environment, bench.cut)
    checked = check_lane(lane, SCRIPT_FOLDER, bench.house, port, installation=installation)
    return Prepared(lane, [result, *checked])


def _router_alone(bench: Bench, port: int) -> Result:
    entries = [entry for entry in bench.house.manifest.wheels if entry.name == ROUTER]
    environment, installation = bench.install("router", entries)
    problems = pip_failure(installation.outcome)
    outcomes = [installation.outcome]
    if not problems:
        lane = HostLane(bench.name, environment, bench.cut)
        outcome, found = run_probe(lane, SCRIPT_FOLDER, port, [PACKAGES[ROUTER]])
        outcomes.append(outcome)
        problems = _not_alone(found) if found else [no_facts(outcome)]
    title = "the router's wheel installs and works without any other"
    return judged(bench.name, "install-router-alone", title, problems, tuple(outcomes))


def _not_alone(found: dict[str, Any]) -> list[str]:
    installed = sorted(distribution["name"] for distribution in found["distributions"])
    problems = [] if installed == [ROUTER] else [f"expected {ROUTER} alone, found {installed}"]
    error = found["packages"][PACKAGES[ROUTER]]["error"]
    return [*problems, f"it can't be imported: {error}"] if error else problems


def _uninstall(bench: Bench) -> Result:
    entries = bench.house.manifest.wheels
    environment, installation = bench.install("uninstall", entries)
    outcome = uninstall(environment, entries, bench.cut)
    # The environment was made empty: what is there now, the wheels left behind.
    left = [*environment.glob("lib/python3*/site-packages/*"), *environment.glob("share/*")]
    problems = pip_failure(installation.outcome) or pip_failure(outcome)
    problems += [f"{path.relative_to(environment)} was left behind" for path in sorted(left)]
    title = "uninstalling leaves nothing behind"
    return judged(bench.name, "uninstall", title, problems, (installation.outcome, outcome))
