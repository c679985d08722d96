"""The GPU checks: both situations judged, the other one's checks listed as not run."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from harness.smoke import gpu
from harness.smoke.outcome import Outcome

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

# As measured: CUDA runtime 13.0, no driver.
WITHOUT: dict[str, Any] = {
    "runtime": {
        "path": "/x/libcudart.so.13",
        "error": None,
        "runtime_version": 13000,
        "runtime_version_status": 0,
        "driver_version": 0,
        "driver_version_status": 0,
        "devices": None,
        "devices_status": 35,
    },
    "management": {"error": "NVMLError_LibraryNotFound", "devices": []},
}
WITH: dict[str, Any] = {
    "runtime": {
        **WITHOUT["runtime"],
        "driver_version": 13010,
        "devices": 1,
        "devices_status": 0,
    },
    "management": {"error": None, "devices": ["NVIDIA H200"]},
}


def judge(facts: dict[str, Any]) -> dict[str, str]:
    outcome = Outcome(("python",), 0, b"", b"", 0.1)
    return {r.case: r.verdict for r in gpu.judge("replay-sim:gpu", facts, outcome)}


def test_without_a_driver() -> None:
    assert judge(WITHOUT) == {
        "gpu-runtime": "passed",
        "gpu-no-driver": "passed",
        "gpu-device": "not-run",
        "gpu-driver": "not-run",
    }


def test_with_a_driver() -> None:
    assert judge(WITH) == {
        "gpu-runtime": "passed",
        "gpu-no-driver": "not-run",
        "gpu-device": "passed",
        "gpu-driver": "passed",
    }


@pytest.mark.parametrize(
    ("facts", "part", "change", "failing"),
    [
        (WITHOUT, "runtime", {"error": "cannot open"}, "gpu-runtime"),
        (WITHOUT, "runtime", {"runtime_version": 12080}, "gpu-runtime"),
        (WITHOUT, "runtime", {"runtime_version_status": 3}, "gpu-runtime"),
        (WITHOUT, "runtime", {"devices_status": 0, "devices": 0}, "gpu-no-driver"),
        (WITHOUT, "runtime", {"driver_version": None}, "gpu-no-driver"),
        (WITHOUT, "management", {"error": "ImportError: pynvml"}, "gpu-no-driver"),
        (WITH, "runtime", {"devices": 0}, "gpu-device"),
        (WITH, "runtime", {"devices_status": 100, "devices": None}, "gpu-device"),
        (WITH, "management", {"error": "NVMLError_Unknown", "devices": []}, "gpu-device"),
        (WITH, "management", {"devices": []}, "gpu-device"),
        (WITH, "runtime", {"driver_version": 12090}, "gpu-driver"),
    ],
)
def test_planted(facts: dict[str, Any], part: str, change: dict[str, Any], failing: str) -> None:
    broken = copy.deepcopy(facts)
    broken[part].update(change)
    assert [case for case, verdict in judge(broken).items() if verdict == "failed"] == [failing]


def test_runtime_that_does_not_load() -> None:
    facts = copy.deepcopy(WITHOUT)
    facts["runtime"] = {"path": "/x/libcudart.so.13", "error": "no such file"}
    verdicts = judge(facts)
    assert verdicts["gpu-runtime"] == "failed"
    assert verdicts["gpu-device"] == "not-run"
