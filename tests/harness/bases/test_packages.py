"""Locks of Debian packages, and the choice of where bases come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bases import packages
from harness.bases.choose import decide
from harness.bases.definition import NAMES, load
from harness.bases.registry import registry_of
from harness.errors import InputError, ToolError
from harness.workspace import Workspace

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

SHA = "a" * 64


@pytest.fixture
def workspace(checkout: Path) -> Workspace:
    return Workspace(checkout)


@pytest.mark.parametrize("name", NAMES)
def test_every_base_is_defined_and_locked(workspace: Workspace, name: str) -> None:
    base = load(workspace.container / "bases", name)
    locked = packages.read_lock(packages.lock_file(workspace, base))
    assert base.hook.is_file()
    names = {file.partition("_")[0] for file in locked}
    assert names >= set(base.packages)


def test_the_runtime_base_has_no_compiler_and_no_package_manager(workspace: Workspace) -> None:
    locked = {}
    for name in NAMES:
        lock = packages.lock_file(workspace, load(workspace.container / "bases", name))
        locked[name] = {file.partition("_")[0] for file in packages.read_lock(lock)}
    wanted = {"gcc", "rustc-web", "cargo-web", "python3-venv"}
    assert wanted <= locked["builder"]
    assert not (wanted | {"apt"}) & locked["runtime"]


def test_a_lock_round_trips(workspace: Workspace, tmp_path: Path) -> None:
    base = load(workspace.container / "bases", "runtime")
    file = tmp_path / "x.lock"
    wanted = {"b_1_amd64.deb": SHA, "a_1:2+b_all.deb": "b" * 64}
    packages.write_lock(file, base, wanted)
    assert packages.read_lock(file) == wanted
    assert packages.read_lock(tmp_path / "absent") == {}


def test_a_malformed_lock_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    file.write_text(f"# head\n{SHA}  a.deb\nabc  b.deb\n")
    with pytest.raises(InputError) as caught:
        packages.read_lock(file)
    assert caught.value.where == f"{file}:3"
    assert caught.value.fix == "make lock"


def test_the_key_follows_packages_definition_and_hook(workspace: Workspace) -> None:
    runtime = load(workspace.container / "bases", "runtime")
    builder = load(workspace.container / "bases", "builder")
    one = {"a.deb": SHA}
    assert runtime.key(one) == runtime.key(dict(one))
    assert len({runtime.key(one), runtime.key({"a.deb": "b" * 64}), builder.key(one)}) == 3


def test_a_corrupt_download_counts_as_missing(tmp_path: Path) -> None:
    good = tmp_path / "good.deb"
    good.write_bytes(b"x")
    locked = {"good.deb": packages.sha256_of(good), "bad.deb": SHA}
    (tmp_path / "bad.deb").write_bytes(b"x")
    assert packages._missing(tmp_path, locked) == ["bad.deb"]


def test_leaving_the_lock_is_said_every_time_or_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base = load(workspace.container / "bases", "runtime")
    old, new = {"a_1_all.deb": SHA}, {"a_2_all.deb": "b" * 64}
    monkeypatch.delenv("BASE_LOCK", raising=False)
    packages.report_drift(workspace, base, old, new)
    assert "a_2_all.deb" in capsys.readouterr().err
    monkeypatch.setenv("BASE_LOCK", "strict")
    with pytest.raises(ToolError, match="moved on"):
        packages.report_drift(workspace, base, old, new)


@pytest.mark.parametrize(
    ("environ", "choice"),
    [
        ({}, "debian"),
        ({"BASE": "auto", "BASE_REGISTRY": "r:5000"}, "registry"),
        ({"BASE": "debian", "BASE_REGISTRY": "r:5000"}, "debian"),
        ({"BASE": "registry", "BASE_REGISTRY": "r:5000"}, "registry"),
    ],
)
def test_where_bases_come_from(environ: dict[str, str], choice: str) -> None:
    chosen, why = decide(environ)
    assert chosen == choice
    assert "BASE" in why


@pytest.mark.parametrize(
    ("environ", "says"),
    [({"BASE": "alpine"}, "not known"), ({"BASE": "registry"}, "no registry is named")],
)
def test_a_choice_that_cannot_be_made(environ: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        decide(environ)


def test_a_registry_base_needs_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deps").mkdir()
    file = tmp_path / "deps" / "pins.toml"
    monkeypatch.setenv("BASE_REGISTRY", "127.0.0.1:5000/team/")
    pin = 'schema = 1\n[[pin]]\nname = "base-runtime"\nimages = ["base-runtime"]\n'
    file.write_text(f'{pin}version = "1"\n')
    with pytest.raises(InputError, match="no pin named base-runtime"):
        registry_of(Workspace(tmp_path), "runtime")
    file.write_text(f'{pin}digest = "sha256:{SHA}"\n')
    reference = registry_of(Workspace(tmp_path), "runtime")
    assert reference == f"127.0.0.1:5000/team/base-runtime@sha256:{SHA}"
