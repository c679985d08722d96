"""The package as installed: types, isolation, and the documented example."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kv_router

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

DOCS = Path(__file__).resolve().parents[2] / "docs" / "router.md"
BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"replay_sim", "numpy"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
import kv_router
router = kv_router.OfflineRouter(kv_router.RouterConfig(), [kv_router.WorkerConfig(worker_id=3)])
print(router.place(0.0, kv_router.Request(1, 16)).decision.worker_id)
try:
    import replay_sim
except ImportError:
    print("blocked")
"""


def python(*arguments: str, timeout: int = 100) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )


def test_version_and_type_marker() -> None:
    assert importlib.metadata.version("kv-router") == kv_router.__version__
    assert (Path(kv_router.__file__).parent / "py.typed").is_file()
    assert kv_router.__revision__


def test_everything_public_is_documented() -> None:
    for name in kv_router.__all__:
        thing = getattr(kv_router, name)
        if isinstance(thing, type) or callable(thing):
            assert thing.__doc__, name
        if isinstance(thing, type) and thing.__module__ == "kv_router":
            methods = {key: value for key, value in vars(thing).items() if not key.startswith("_")}
            assert not [key for key, value in methods.items() if not value.__doc__], name


def test_stubs_agree_with_the_extension(tmp_path: Path) -> None:
    command = ("-m", "mypy.stubtest", "kv_router", "--concise")
    checked = python(*command)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    # The check can fail: a stub that promises more is caught.
    package = tmp_path / "kv_router"
    package.mkdir()
    for source in Path(kv_router.__file__).parent.glob("*"):
        if source.is_file():
            (package / source.name).write_bytes(source.read_bytes())
    stub = package / "_core.pyi"
    stub.write_text(stub.read_text().replace("def dump(", "def dump_all("))
    planted = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path), "PATH": ""},
    )
    assert planted.returncode == 1, planted.stdout + planted.stderr
    assert "dump_all" in planted.stdout


def test_it_works_without_the_simulator_and_without_numpy() -> None:
    ran = python("-c", BLOCKED)
    assert (ran.returncode, ran.stdout.split()) == (0, ["3", "blocked"]), ran.stderr


def test_the_documented_example_prints_what_the_page_says() -> None:
    text = DOCS.read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```\n+It prints:\n+```text\n(.*?)```", text, re.DOTALL)
    assert example, "docs/router.md has one example with its output"
    ran = python("-I", "-c", example.group(1))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == example.group(2)
