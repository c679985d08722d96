"""Collects facts about the CUDA runtime, the driver and the devices, and judges none of them.

Runs inside the GPU image with the standard library and nvidia-ml-py only, and prints one JSON
object. The runtime lies in no loader path, so it is loaded by its full path.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
import sysconfig
from pathlib import Path
from typing import Any

RUNTIME = Path("nvidia", "cu13", "lib", "libcudart.so.13")


def runtime() -> dict[str, Any]:
    """Return the runtime's own version, the driver's as it sees it, and its device count.

    Versions are 1000 x major + 10 x minor; a driver version of 0 means that there is no driver.
    Status codes are cudaError values: 0 is success, 35 cudaErrorInsufficientDriver.
    """
    path = Path(sysconfig.get_path("platlib")) / RUNTIME
    facts: dict[str, Any] = {"path": str(path), "error": None}
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return {**facts, "error": str(error)}
    for name, function in (
        ("runtime_version", "cudaRuntimeGetVersion"),
        ("driver_version", "cudaDriverGetVersion"),
        ("devices", "cudaGetDeviceCount"),
    ):
        value = ctypes.c_int(-1)
        status = library[function](ctypes.byref(value))
        # The value is left untouched on an error: it says nothing then.
        facts[name] = value.value if status == 0 else None
        facts[f"{name}_status"] = status
    return facts


def management() -> dict[str, Any]:
    """Return what NVML answers: the devices' names, or the name of its error."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        return {"error": f"ImportError: {error}", "devices": []}
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        return {"error": None, "devices": [str(nvml.nvmlDeviceGetName(h)) for h in handles]}
    except nvml.NVMLError as error:
        return {"error": type(error).__name__, "devices": []}


def main() -> None:
    """Print the facts as JSON on standard output."""
    json.dump({"runtime": runtime(), "management": management()}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
