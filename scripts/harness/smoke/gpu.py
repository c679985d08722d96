"""The GPU image's own checks: with a driver and without one, each reported by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from harness.smoke.lanes.image import SCRIPTS, ImageLane, NoGpuError
from harness.smoke.lanes.lane import workspace
from harness.smoke.outcome import Outcome
from harness.smoke.result import Result, judged, not_run

PROBE_SECONDS = 60
# cudaError values of the CUDA runtime API.
SUCCESS, INSUFFICIENT_DRIVER = 0, 35
MAJOR = 13


def results(lane: ImageLane) -> list[Result]:
    """Probe the image, with a GPU where the engine has one, and judge what was found."""
    outcome = _probe(lane)
    try:
        facts = json.loads(outcome.stdout)
    except ValueError:
        problem = f"the probe ended with {outcome.exit_code} and no facts: {outcome.tail()}"
        title = "the GPU parts can be probed"
        return [judged(lane.name, "gpu-probe", title, [problem], (outcome,))]
    return judge(lane.name, facts, outcome)


def judge(lane: str, facts: dict[str, Any], outcome: Outcome) -> list[Result]:
    """Judge the facts; checks of the other situation (driver or none) are listed as not run."""
    driver = bool(facts["runtime"].get("driver_version")) or facts["management"]["error"] is None
    found = []
    for name, title, needs_driver, check in CHECKS:
        if needs_driver is not None and needs_driver != driver:
            reason = "a driver is there" if driver else "no driver: this machine gave no GPU"
            found.append(not_run(lane, name, title, reason))
        else:
            found.append(judged(lane, name, title, list(check(facts)), (outcome,)))
    return found


def _probe(lane: ImageLane) -> Outcome:
    args = ["-I", f"{SCRIPTS}/gpu_probe.py"]
    for candidate in (replace(lane, gpus=True), lane):
        try:
            with workspace({}, None) as work:
                return candidate.run("python", args, work=work, timeout=PROBE_SECONDS)
        except NoGpuError:
            continue
    raise AssertionError("a lane without a GPU asks for none")


def _runtime(facts: dict[str, Any]) -> Iterator[str]:
    runtime = facts["runtime"]
    if runtime["error"]:
        yield f"{runtime['path']} does not load: {runtime['error']}"
    elif runtime["runtime_version_status"] != SUCCESS:
        yield f"cudaRuntimeGetVersion returned {runtime['runtime_version_status']}"
    elif runtime["runtime_version"] // 1000 != MAJOR:
        yield f"expected CUDA runtime {MAJOR}.x, found version {runtime['runtime_version']}"


def _no_driver(facts: dict[str, Any]) -> Iterator[str]:
    runtime, management = facts["runtime"], facts["management"]
    if runtime.get("driver_version") != 0:
        yield f"cudaDriverGetVersion: expected 0, found {runtime.get('driver_version')}"
    if runtime.get("devices_status") != INSUFFICIENT_DRIVER:
        yield (
            f"cudaGetDeviceCount: expected {INSUFFICIENT_DRIVER} (cudaErrorInsufficientDriver), "
            f"found {runtime.get('devices_status')}"
        )
    if management["error"] != "NVMLError_LibraryNotFound":
        yield f"nvmlInit: expected NVMLError_LibraryNotFound, found {management['error']}"


def _device(facts: dict[str, Any]) -> Iterator[str]:
    runtime, management = facts["runtime"], facts["management"]
    if runtime.get("devices_status") != SUCCESS or not runtime.get("devices"):
        yield f"cudaGetDeviceCount: {runtime.get('devices_status')}, {runtime.get('devices')}"
    if management["error"] or not management["devices"]:
        yield f"NVML sees no device: {management['error'] or 'the list is empty'}"


def _compatible(facts: dict[str, Any]) -> Iterator[str]:
    # Minor-version compatibility: a driver of the runtime's major version is enough.
    driver, runtime = facts["runtime"].get("driver_version"), facts["runtime"]["runtime_version"]
    if not driver or driver // 1000 < runtime // 1000:
        yield f"the driver's CUDA version {driver} is older than the runtime's {runtime}"


Check = Callable[[dict[str, Any]], Iterator[str]]

# Name, title, whether it needs a driver (None: either way), check.
CHECKS: tuple[tuple[str, str, bool | None, Check], ...] = (
    ("gpu-runtime", "the CUDA runtime loads by its full path", None, _runtime),
    ("gpu-no-driver", "without a driver, the answer is the documented one", False, _no_driver),
    ("gpu-device", "with a GPU, the device is visible", True, _device),
    ("gpu-driver", "with a GPU, driver and runtime go together", True, _compatible),
)
