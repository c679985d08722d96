"""Downloads that fail: one clear message, nothing half-made, and the next run goes on."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.bases.choose import provide
from harness.engine import find
from harness.errors import ToolError
from harness.images import fetch
from harness.images.context import context_of
from harness.workspace import Workspace

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.integration,
    pytest.mark.gpu_0,
    pytest.mark.timeout(240),
]


@pytest.fixture(scope="module")
def base(checkout: Path) -> str:
    """The builder base that `make images` made."""
    return provide(Workspace(checkout), find())["builder"].reference


@pytest.fixture
def workspace(checkout: Path, tmp_path: Path) -> Workspace:
    """A build folder of its own, whose locks name one small wheel and no crate."""
    workspace = Workspace(tmp_path)
    shutil.copytree(checkout / "container", workspace.container)
    context = context_of(workspace)
    (context / "manifests" / "src").mkdir(parents=True)
    (context / "manifests" / "src" / "lib.rs").touch()
    (context / "manifests" / "Cargo.toml").write_text(
        '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2021"\n'
    )
    (context / "manifests" / "Cargo.lock").write_text(
        'version = 4\n\n[[package]]\nname = "empty"\nversion = "0.0.0"\n'
    )
    (context / "locks").mkdir()
    lock = (checkout / "deps" / "app.txt").read_text(encoding="utf-8")
    start = lock.index("mdurl==")
    entry = "".join(
        line + "\n" for line in lock[start:].splitlines()[:3] if not line.strip().startswith("#")
    )
    (context / "locks" / "app.txt").write_text(entry.rstrip().removesuffix("\\") + "\n")
    return workspace


@pytest.fixture
def silent_index() -> Iterator[str]:
    """An index that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple"


def test_what_is_locked_is_downloaded_once(
    workspace: Workspace, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with workspace.locked():
        fetch.fetch(workspace, find(), base)
    wheels = context_of(workspace) / "wheels" / "app"
    assert [path.name for path in wheels.iterdir()] == ["mdurl-0.1.2-py3-none-any.whl"]
    capsys.readouterr()
    with workspace.locked():
        fetch.fetch(workspace, find(), base)
    assert "here already" in capsys.readouterr().err


def test_a_wheel_with_another_hash_is_refused(workspace: Workspace, base: str) -> None:
    lock = context_of(workspace) / "locks" / "app.txt"
    text = lock.read_text()
    digests = [word for word in text.split() if word.startswith("--hash=")]
    for word in digests:
        text = text.replace(word, f"--hash=sha256:{'0' * 64}")
    lock.write_text(text)
    with workspace.locked(), pytest.raises(ToolError, match="another hash than its lock"):
        fetch.fetch(workspace, find(), base)
    assert not (context_of(workspace) / "wheels").exists()


def test_an_index_that_does_not_answer(
    workspace: Workspace, base: str, silent_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", silent_index)
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "1")
    monkeypatch.setenv("PIP_RETRIES", "1")
    _change_cache_key(workspace, "silent")
    with workspace.locked(), pytest.raises(ToolError, match="does not answer") as caught:
        fetch.fetch(workspace, find(), base)
    assert "PIP_INDEX_URL" in str(caught.value.fix)
    assert "Read timed out" in caught.value.message
    assert list(workspace.build.glob("scratch-*")) == []


def test_a_killed_download_is_repeated(
    workspace: Workspace, base: str, silent_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _change_cache_key(workspace, "killed")
    program = textwrap.dedent(f"""
        from pathlib import Path
        from harness.engine import find
        from harness.images.fetch import fetch
        from harness.workspace import Workspace
        w = Workspace(Path({str(workspace.root)!r}))
        with w.locked():
            print("locked", flush=True)
            fetch(w, find(), {base!r})
    """)
    # pip gives up on the first try and waits for an answer to the second.
    environment = {**os.environ, "PIP_INDEX_URL": silent_index, "PIP_DEFAULT_TIMEOUT": "2"}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"locked\n"
        log = workspace.logs / "fetch.log"
        while child.poll() is None and not (log.is_file() and "Retrying" in log.read_text()):
            time.sleep(0.05)
        assert child.poll() is None, log.read_text()
        os.kill(child.pid, signal.SIGKILL)
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    with workspace.locked():
        fetch.fetch(workspace, find(), base)
    assert (context_of(workspace) / "wheels" / "app" / "mdurl-0.1.2-py3-none-any.whl").is_file()


def _change_cache_key(workspace: Workspace, word: str) -> None:
    """Make the engine run the download again: a finished step is kept whatever the secrets say."""
    lock = context_of(workspace) / "locks" / "app.txt"
    lock.write_text(f"# {word} {os.getpid()}\n{lock.read_text()}")
