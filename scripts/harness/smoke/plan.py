"""Turning the command line into a plan: everything is looked up before anything is run."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.engine import connect
from harness.errors import InputError
from harness.paths import find_root
from harness.smoke import trace_facts
from harness.smoke.acceptance import Trace
from harness.smoke.case import Case, shipped_cases
from harness.smoke.containers import remove_containers
from harness.smoke.evidence import Evidence
from harness.smoke.image_facts import inspect
from harness.smoke.lanes.host import Interpreter, find_interpreter, find_interpreters
from harness.smoke.lanes.image import ImageLane, kind_of
from harness.smoke.offline import Cut, find_cut
from harness.smoke.prepare import SCRIPT_FOLDER, WheelhouseUnderTest
from harness.smoke.public_traces import PUBLIC, absence, find_public
from harness.smoke.runner import Plan
from harness.smoke.scratch import remove_leftovers
from harness.wheels.house import open_wheels
from harness.wheels.manifest import load

if TYPE_CHECKING:
    import docker

IMAGES = ("replay-sim:cpu", "replay-sim:gpu")
SAMPLE = Path("tests", "data", "sample.jsonl")
# Beside the checkout, where other checkouts find them too.
PUBLIC_FOLDER = Path("..", "shared", "traces")
HOST = "host"
HARNESS = ".venv/bin/harness"


def make_plan(
    *,
    wheelhouse: Path | None,
    host: bool,
    images: Sequence[str],
    pythons: Sequence[str],
    trace: Path | None,
    public: Path | None,
    cases: Sequence[str],
    evidence: Path | None,
) -> Plan:
    """Look everything up. Raises InputError or ToolError, with the fix, for what is missing."""
    root = find_root()
    remove_leftovers()
    everything = not (host or images or pythons)
    selected = select_cases(cases)
    folder = (public or root / PUBLIC_FOLDER).resolve()
    traces = {**_traces(root, trace, selected), **_public_traces(folder, selected)}
    house = load_house(wheelhouse or root / "build" / "wheelhouse")
    interpreters = host_lanes(HOST, pythons) if host or pythons or everything else {}
    cut: Cut | None = find_cut() if interpreters else None
    names = IMAGES if everything else tuple(images)
    if names:
        require_readable(traces)
    lanes = _image_lanes(connect(), names) if names else {}
    options = {"--trace": trace, "--traces": public}
    return Plan(
        house=house,
        cases=selected,
        traces=traces,
        absent={name: absence(name, folder) for name in PUBLIC.keys() - traces.keys()},
        interpreters=interpreters,
        cut=cut,
        images=lanes,
        evidence=Evidence(
            folder=evidence or root / "build" / "evidence",
            manifest=house.manifest,
            images={name: lane.facts for name, lane in lanes.items()},
            repeats=_repeats(house.folder, interpreters, lanes, options),
        ),
    )


def select_cases(names: Sequence[str]) -> list[Case]:
    """Return the shipped cases, or those named; raises InputError for a name that is none."""
    shipped = shipped_cases()
    known = {case.name for case in shipped}
    for name in names:
        if name not in known:
            raise InputError(f"no case {name!r}", fix=f"one of: {', '.join(sorted(known))}")
    return [case for case in shipped if not names or case.name in names]


def load_house(folder: Path) -> WheelhouseUnderTest:
    """Open a wheelhouse; raises InputError where it, its manifest or a wheel of it is missing."""
    folder = folder.resolve()
    wheels = {wheel.name: wheel for wheel in open_wheels(folder)}
    manifest = load(folder)
    for entry in manifest.wheels:
        if not (folder / entry.filename).is_file():
            raise InputError(
                "the manifest names a wheel that is not there",
                where=str(folder / entry.filename),
                fix="make wheels",
            )
    return WheelhouseUnderTest(folder, manifest, wheels)


def _traces(root: Path, given: Path | None, cases: Sequence[Case]) -> dict[str, Trace]:
    """Count the traces that the cases use; the shipped one stands in where none is given."""
    sample = root / SAMPLE
    paths = {"sample": sample, "given": given.absolute() if given else sample}
    used = {case.trace for case in cases if case.trace in paths}
    if given is not None:
        used.add("given")
    return {name: Trace(paths[name], trace_facts.count(paths[name])) for name in sorted(used)}


def _public_traces(folder: Path, cases: Sequence[Case]) -> dict[str, Trace]:
    """Count the public traces that the cases use, as far as they are there."""
    used = PUBLIC.keys() & {case.trace for case in cases}
    found = {name: find_public(name, folder) for name in sorted(used)}
    return {name: Trace(path, trace_facts.count(path)) for name, path in found.items() if path}


def require_readable(traces: Mapping[str, Trace]) -> None:
    """Raise InputError for a trace that an image's own user could not read."""
    for trace in traces.values():
        if not trace.path.stat().st_mode & stat.S_IROTH:
            raise InputError(
                "the image's user is another one and can't read this trace",
                where=str(trace.path),
                fix=f"chmod o+r {shlex.quote(str(trace.path))}",
            )


def host_lanes(prefix: str, names: Sequence[str]) -> dict[str, Interpreter]:
    """Return the Pythons that are named, or all that are found: lane name to interpreter."""
    found: dict[str, Interpreter] = {}
    for interpreter in map(find_interpreter, names) if names else find_interpreters():
        lane = f"{prefix}-{interpreter.version}"
        if lane in found:
            raise InputError(
                f"two Pythons {interpreter.version}: {found[lane].path} and {interpreter.path}",
                fix="name one of them with --python",
            )
        found[lane] = interpreter
    return found


def _image_lanes(client: docker.DockerClient, names: Sequence[str]) -> dict[str, ImageLane]:
    remove_containers(client, of_this_process=False)
    return {
        name: ImageLane(name, kind_of(name), client, inspect(client, name), SCRIPT_FOLDER)
        for name in names
    }


def _repeats(
    folder: Path,
    interpreters: dict[str, Interpreter],
    images: dict[str, ImageLane],
    options: Mapping[str, Path | None],
) -> dict[str, str]:
    """Return, for each lane, the command that takes this lane alone."""
    common = ["--wheelhouse", str(folder)]
    for option, path in options.items():
        common += [option, str(path)] if path else []
    words = {"wheelhouse": [HARNESS, "wheels", "audit", str(folder)]}
    for name, interpreter in interpreters.items():
        words[name] = [HARNESS, "smoke", *common, "--python", str(interpreter.path)]
    for name in images:
        words[name] = [HARNESS, "smoke", *common, "--image", name]
    every = [word for p in interpreters.values() for word in ("--python", str(p.path))]
    every += [word for name in images for word in ("--image", name)]
    words["agreement"] = [HARNESS, "smoke", *common, *every]
    return {lane: shlex.join(command) for lane, command in words.items()}
