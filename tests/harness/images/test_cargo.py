"""The builder's cargo in the place of one on the host: locks refreshed, stamped locks accepted."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from docker.errors import ContainerError

from harness.bases.choose import provide
from harness.cli import main
from harness.engine import find
from harness.pins import config
from harness.workspace import Workspace
from tests.harness.pins.trees import contents, report, write

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.integration,
    pytest.mark.gpu_0,
    pytest.mark.timeout(600),
]

MANIFEST = '[package]\nname = "{}"\nversion = "{}"\nedition = "2021"\n'
LOCK = 'version = 4\n\n[[package]]\nname = "app"\nversion = "0.1.0"\n'


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host on whose PATH there is nothing; a folder for a repository."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return tmp_path / "repository"


def test_a_stale_lock_is_refreshed_without_cargo_on_the_host(bare: Path) -> None:
    """Two workspaces, one in a folder; the targets of the manifests are found without sources."""
    files = {
        "Cargo.toml": '[workspace]\nmembers = ["app"]\nexclude = ["tool"]\nresolver = "2"\n',
        "app/Cargo.toml": MANIFEST.format("app", "0.2.0") + '[[bin]]\nname = "x"\npath = "y.rs"\n',
        "app/y.rs": "fn main() {}\n",
        "Cargo.lock": LOCK,
        "tool/Cargo.toml": MANIFEST.format("app", "0.3.0"),
        "tool/src/lib.rs": "",
        "tool/Cargo.lock": LOCK,
    }
    root = write(bare, files)
    assert not report(root).clean
    before = contents(root)
    assert main(["pins", "lock", "--root", str(root)]) == 0
    assert report(root).clean
    after = contents(root)
    assert b'version = "0.2.0"' in after["Cargo.lock"]
    assert b'version = "0.3.0"' in after["tool/Cargo.lock"]
    changed = {path for path, data in after.items() if before.get(path) != data}
    assert changed == {"Cargo.lock", "tool/Cargo.lock"}


def test_what_cargo_refuses_is_said_and_the_lock_stays(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(bare, {"Cargo.toml": MANIFEST.format("app", "0.2.0"), "Cargo.lock": LOCK})
    before = contents(root)
    assert main(["pins", "lock", "--root", str(root)]) == 3
    assert "no targets specified" in capsys.readouterr().err
    assert contents(root) == before


def test_a_stamped_copy_of_this_repository_is_locked_and_comes_back_whole(
    checkout: Path, tmp_path: Path
) -> None:
    vendored = checkout / "build" / "context"
    if not (vendored / "vendor").is_dir():
        pytest.fail("build/context/vendor is missing: run `make images`")
    copy = tmp_path / "copy"
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=checkout, capture_output=True, check=True, timeout=60
    )
    for name in filter(None, tracked.stdout.decode().split("\0")):
        source, target = checkout / name, copy / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    before = contents(copy)
    release = config.load(copy).find("release").version
    assert release is not None
    assert metadata(checkout, copy, vendored) == {release.text}
    assert main(["pins", "stamp", "--dev", "20261130", "--root", str(copy)]) == 0
    assert metadata(checkout, copy, vendored) == {f"{release.text}-dev.20261130"}
    # The control: with the old lock the same command refuses.
    stamped = (copy / "Cargo.lock").read_bytes()
    (copy / "Cargo.lock").write_bytes(before["Cargo.lock"])
    with pytest.raises(ContainerError, match="--locked"):
        metadata(checkout, copy, vendored)
    (copy / "Cargo.lock").write_bytes(stamped)
    assert main(["pins", "unstamp", "--root", str(copy)]) == 0
    assert contents(copy) == before


def metadata(checkout: Path, root: Path, vendored: Path) -> set[str]:
    """Ask the builder's cargo, locked and offline, for the versions of the workspace's packages."""
    engine = find()
    answer = engine.sdk.containers.run(
        provide(Workspace(checkout), engine)["builder"].reference,
        ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"],
        remove=True,
        network_mode="none",
        working_dir="/copy",
        volumes={
            str(root): {"bind": "/copy", "mode": "ro"},
            str(vendored / "vendor"): {"bind": "/vendor", "mode": "ro"},
            str(vendored / "cargo.toml"): {"bind": "/root/.cargo/config.toml", "mode": "ro"},
        },
    )
    document = json.loads(answer)
    members = set(document["workspace_members"])
    assert len(document["packages"]) > len(members) >= 4
    return {p["version"] for p in document["packages"] if p["id"] in members}
