"""The built images, run as their user: what they carry, what they must not carry."""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

from harness.engine import connect

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.integration,
    pytest.mark.gpu_0,
    pytest.mark.timeout(180),
]

NAMES = ("cpu", "gpu")
MEGABYTE = 1_000_000
BUDGET = {"cpu": 60 * MEGABYTE, "gpu": 65 * MEGABYTE}
PYTHON = "/opt/replay/bin/python"
HARDENED: dict[str, Any] = {
    "network_mode": "none",
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    "remove": True,
}


@pytest.fixture(scope="module")
def built(checkout: Path) -> dict[str, Any]:
    file = checkout / "build" / "images.json"
    if not file.is_file():
        pytest.fail("build/images.json is missing: run `make images`")
    return dict(json.loads(file.read_text(encoding="utf-8")))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def attributes(built: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(connect().images.get(built["images"][name]["id"]).attrs)


@pytest.fixture(scope="module")
def trees(built: dict[str, Any]) -> dict[str, dict[str, tarfile.TarInfo]]:
    """Path to tar member of every file of each image."""
    client, trees = connect(), {}
    for image in NAMES:
        container = client.containers.create(built["images"][image]["id"])
        try:
            with tempfile.TemporaryFile() as stream:
                for chunk in container.export():
                    stream.write(chunk)  # type: ignore[arg-type] # bytes; the stub says str
                stream.seek(0)
                with tarfile.open(fileobj=stream) as tar:
                    trees[image] = {f"/{member.name}": member for member in tar}
        finally:
            container.remove()
    return trees


def python(name: str, program: str) -> str:
    output = connect().containers.run(
        f"replay-sim:{name}", ["-c", program], entrypoint=[PYTHON], stderr=True, **HARDENED
    )
    return bytes(output).decode().strip()


def test_the_tags_name_the_recorded_image(built: dict[str, Any], name: str) -> None:
    for tag in built["images"][name]["tags"]:
        assert connect().images.get(tag).id == built["images"][name]["id"]


def test_labels_say_what_it_was_built_from(
    built: dict[str, Any], attributes: dict[str, Any]
) -> None:
    labels = attributes["Config"]["Labels"]
    prefix = "org.opencontainers.image."
    assert labels[f"{prefix}revision"] == built["revision"]
    assert labels[f"{prefix}version"] == built["version"]
    assert labels[f"{prefix}created"] == attributes["Created"]
    assert labels[f"{prefix}licenses"] == "Apache-2.0"
    assert labels[f"{prefix}base.digest"].startswith("sha256:")


def test_the_size_stays_within_its_budget(attributes: dict[str, Any], name: str) -> None:
    assert attributes["Size"] <= BUDGET[name]


def test_it_runs_hardened_as_an_ordinary_user(name: str) -> None:
    found = json.loads(
        python(
            name,
            """if True:
        import json, os, pathlib
        status = dict(line.split(":\\t", 1) for line in
                      pathlib.Path("/proc/self/status").read_text().splitlines() if ":\\t" in line)
        try:
            pathlib.Path("/opt/replay/x").touch()
            wrote = True
        except OSError:
            wrote = False
        print(json.dumps({"uid": os.getuid(), "capabilities": status["CapEff"], "wrote": wrote,
                          "devices": os.listdir("/sys/class/net")}))
    """,
        )
    )
    assert found == {"uid": 10001, "capabilities": "0" * 16, "wrote": False, "devices": ["lo"]}


def test_it_runs_under_a_random_uid(name: str, built: dict[str, Any]) -> None:
    output = connect().containers.run(
        f"replay-sim:{name}", ["--version"], user="54321:0", **HARDENED
    )
    assert built["version"] in bytes(output).decode()


def test_it_carries_no_tool_of_an_attacker(
    trees: dict[str, dict[str, tarfile.TarInfo]], name: str
) -> None:
    paths = set(trees[name])
    unwanted = {
        "sh",
        "bash",
        "dash",
        "apt-get",
        "dpkg",
        "gcc",
        "cc",
        "ld",
        "rustc",
        "cargo",
        "pip",
        "perl",
        "curl",
        "su",
    }
    programs = {path.rpartition("/")[2] for path in paths if "/bin/" in path or "/sbin/" in path}
    assert not unwanted & programs
    # Positive control: the listing does see programs.
    assert {"python3.11", "replay-sim"} <= programs
    assert not [path for path in paths if path.endswith((".h", ".a")) or "/pip/" in path]
    assert not [path for path in paths if path.startswith(("/var/cache/", "/var/lib/apt"))]


def test_no_file_is_set_uid_or_writable_by_all(
    trees: dict[str, dict[str, tarfile.TarInfo]], name: str
) -> None:
    members = trees[name]
    assert not [path for path, member in members.items() if member.isreg() and member.mode & 0o6000]
    loose = [
        path
        for path, member in members.items()
        if not member.issym()
        and member.mode & 0o002
        and path.rstrip("/") not in ("/tmp", "/var/tmp")
        and not path.startswith(("/dev", "/proc", "/sys"))
    ]
    assert not loose
    # Positive control: modes were read.
    assert members["/opt/replay/bin/replay-sim"].mode & 0o111


def test_nothing_of_the_host_stays_in_a_layer(
    trees: dict[str, dict[str, tarfile.TarInfo]], attributes: dict[str, Any], name: str
) -> None:
    assert not [path for path in trees[name] if path.startswith(("/run/secrets", "/root/.cargo"))]
    variables = {entry.partition("=")[0] for entry in attributes["Config"]["Env"]}
    assert not {v for v in variables if "PROXY" in v.upper() or v.startswith(("PIP_", "CARGO_"))}
    assert "PATH" in variables


def test_every_imported_module_has_its_byte_code(name: str) -> None:
    found = json.loads(
        python(
            name,
            """if True:
        import json, pathlib, sys
        import kv_router, replay_sim, replay_sim.cli, rich.progress, rich.table
        files = [pathlib.Path(module.__cached__) for module in list(sys.modules.values())
                 if getattr(module, "__cached__", None)]
        print(json.dumps([len(files), [str(path) for path in files if not path.exists()]]))
    """,
        )
    )
    assert found[0] > 50
    assert found[1] == []


def test_scanners_find_the_packages(trees: dict[str, dict[str, tarfile.TarInfo]]) -> None:
    assert {"/var/lib/dpkg/status.d/libc6", "/var/lib/dpkg/status.d/python3.11-minimal"} <= set(
        trees["cpu"]
    )


def test_the_bill_of_materials_names_every_part(name: str) -> None:
    bill = json.loads(
        python(
            name,
            """if True:
        import pathlib
        print(pathlib.Path("/usr/share/sbom/replay-sim.cdx.json").read_text())
    """,
        )
    )
    names = {component["name"] for component in bill["components"]}
    assert {"libc6", "python3.11-minimal", "kv-router", "replay-sim", "rich", "pyo3"} <= names
    assert ("nvidia-cuda-runtime" in names) == (name == "gpu")
    assert len({component["bom-ref"] for component in bill["components"]}) == len(
        bill["components"]
    )


def test_the_gpu_image_is_the_cpu_image_and_the_cuda_runtime(
    trees: dict[str, dict[str, tarfile.TarInfo]],
) -> None:
    more = set(trees["gpu"]) - set(trees["cpu"])
    assert any("libcudart.so.13" in path for path in more)
    assert all(
        "nvidia" in path or "pynvml" in path or "libcudart" in path or "/__pycache__" in path
        for path in more
    ), sorted(more)[:20]
    assert not any("nvidia" in path for path in trees["cpu"])


def test_the_cuda_runtime_loads_and_says_that_there_is_no_driver() -> None:
    found = python(
        "gpu",
        """if True:
        import ctypes, pynvml
        runtime, value = ctypes.CDLL("libcudart.so.13"), ctypes.c_int(-1)
        print(runtime.cudaRuntimeGetVersion(ctypes.byref(value)), value.value)
    """,
    )
    status, version = map(int, found.split())
    assert status == 0
    assert version // 1000 == 13
