"""Installing a wheelhouse as its users will: from a package index, by name and version.

Nothing of the build's containers takes part, so a pin that only they can resolve is found here.
The installed environment then has to pass every check of a host lane.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from harness.console import step
from harness.release.index import index_of
from harness.smoke.checks.install_report import differences
from harness.smoke.evidence import Evidence
from harness.smoke.install import make_environment, pip_failure, resolve
from harness.smoke.offline import Cut, find_cut, listener
from harness.smoke.plan import HARNESS, host_lanes, load_house
from harness.smoke.prepare_host import Bench, install_everything
from harness.smoke.result import Result, judged
from harness.smoke.scratch import scratch

LANE = "index"
# The index is reached over the loopback of this machine.
NOT_CUT = Cut((), "not cut")


def check(wheelhouse: Path, pythons: Sequence[str], folder: Path) -> tuple[list[Result], Evidence]:
    """Check a wheelhouse with each Python; the evidence goes to `folder`.

    Raises InputError or ToolError where the wheelhouse, a Python or a tool is missing.
    """
    house = load_house(wheelhouse)
    interpreters = host_lanes(LANE, pythons)
    cut = find_cut()
    command = [HARNESS, "release", "check", "--wheelhouse", str(house.folder)]
    repeats = {
        lane: shlex.join([*command, "--python", str(interpreter.path)])
        for lane, interpreter in interpreters.items()
    }
    evidence = Evidence(folder, house.manifest, {}, repeats)
    evidence.clear()
    step(f"Installing {house.folder} from a package index on loopback")
    started = time.monotonic()
    results: list[Result] = []
    with index_of(house.folder) as origin, listener() as port, scratch() as place:
        for lane, interpreter in interpreters.items():
            bench = Bench(lane, interpreter, place / lane, house, cut, origin, NOT_CUT)
            results += [_resolve(bench), *install_everything(bench, port).results]
    for result in results:
        evidence.write(result)
    evidence.finish(results, time.monotonic() - started)
    return results, evidence


def _resolve(bench: Bench) -> Result:
    manifest = bench.house.manifest
    environment = make_environment(bench.interpreter, bench.folder / "resolve")
    found = resolve(environment, bench.origin, manifest.first_party(), bench.fetch)
    problems = pip_failure(found.outcome) or list(differences(found, manifest))
    title = "our wheels, by name and version, need exactly the manifest's wheels"
    return judged(bench.name, "resolve", title, problems, (found.outcome,))
