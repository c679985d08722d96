"""Each check of a lane: silent on sound facts, and red, by name, on the fault planted for it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.smoke import checks
from harness.smoke.facts import Facts
from harness.smoke.image_facts import REVISION_LABEL, ImageFile
from harness.smoke.lanes.lane import Kind
from harness.wheels.manifest import describe
from harness.wheels.wheel import Wheel
from tests.harness.smoke.facts_factory import SITE, outcome, sound_facts
from tests.harness.wheels.elf_factory import extension
from tests.harness.wheels.wheel_factory import WheelSpec, first_party

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

KINDS: tuple[Kind, ...] = ("host", "cpu", "gpu")
Breaker = Callable[[dict[str, Any]], object]


def found(facts: Facts) -> dict[str, list[str]]:
    """What every check of the lane's kind says; checks with nothing to say are left out."""
    said = {checks.name_of(c): checks.judge(c, facts) for c in checks.for_kind(facts.kind)}
    return {name: problems for name, problems in said.items() if problems}


@pytest.mark.parametrize("kind", KINDS)
def test_sound_lane_is_clean(tmp_path: Path, kind: Kind) -> None:
    assert found(sound_facts(tmp_path, kind)) == {}


def of(probe: dict[str, Any], name: str) -> dict[str, Any]:
    return next(d for d in probe["distributions"] if d["name"] == name)


def set_(path: str, value: Any) -> Breaker:
    """Return a breaker that sets a value of the probe, e.g. process.uid."""
    *steps, last = path.split("/")

    def breaker(probe: dict[str, Any]) -> None:
        for step in steps:
            probe = probe[step]
        probe[last] = value

    return breaker


def edit(name: str, key: str, value: Any) -> Breaker:
    return lambda probe: of(probe, name).update({key: value})


def file_of(name: str, member: str, value: Any) -> Breaker:
    return lambda probe: of(probe, name)["files"][member].update(value)


def mapped(path: str) -> Breaker:
    return lambda probe: probe["mapped"].update({path: "1" * 64})


# What is planted into the probe's facts: (check that must find it, words of its message, how).
PLANTED: dict[str, tuple[str, str, Breaker]] = {
    "a route leads out": ("network-off", "through eth0", set_("network/routes", ["eth0"])),
    "host reachable": ("network-off", "was reached", set_("network/listener_reached", True)),
    "surplus distribution": (
        "distributions",
        "pip 23 is installed",
        lambda p: p["distributions"].append(
            {"name": "pip", "version": "23", "requires": [], "scripts": {}, "files": {}}
        ),
    ),
    "missing distribution": (
        "distributions",
        "simw is not installed",
        lambda p: p["distributions"].remove(of(p, "simw")),
    ),
    "other version": ("distributions", "found 0.12", edit("simw", "version", "0.12")),
    "requirement unmet": (
        "requirements",
        "simw>=0.14",
        edit("replay-sim", "requires", ["simw>=0.14"]),
    ),
    "requirement absent": ("requirements", "absent", edit("replay-sim", "requires", ["absent"])),
    "installed byte changed": (
        "installed-bytes",
        "simw/__init__.py: expected the bytes of",
        file_of("simw", "simw/__init__.py", {"sha256": "0" * 64}),
    ),
    "installed file gone": (
        "installed-bytes",
        "is not installed",
        file_of("simw", "simw/__init__.py", {"sha256": None}),
    ),
    "import fails": (
        "imported-files",
        "replay_sim can't be imported: ImportError",
        set_("packages/replay_sim/error", "ImportError: x"),
    ),
    "imported from elsewhere": (
        "imported-files",
        "outside /env",
        set_("imported/kv_router", "/checkout/kv_router/__init__.py"),
    ),
    "imported but not owned": (
        "imported-files",
        "does not own",
        set_("imported/kv_router.extra", f"{SITE}/kv_router/extra.py"),
    ),
    "imported from no file": (
        "imported-files",
        "from no file",
        set_("imported/kv_router", None),
    ),
    "extension not imported": (
        "imported-files",
        "did not load its extension",
        lambda p: p["imported"].pop("kv_router._core"),
    ),
    "extension from elsewhere": (
        "loaded-extensions",
        "was loaded from outside",
        mapped("/checkout/kv_router/_core.abi3.so"),
    ),
    "extension of other bytes": (
        "loaded-extensions",
        "is not what was loaded",
        mapped(f"{SITE}/kv_router/_core.abi3.so"),
    ),
    "router tries the simulator": (
        "router-alone",
        "tried to import replay_sim.core",
        set_("packages/kv_router/blocked_attempts", ["replay_sim.core"]),
    ),
    "router needs something else": (
        "router-alone",
        "can't be imported alone: ImportError",
        set_("packages/kv_router/error", "ImportError: replay_sim is blocked"),
    ),
    "command not installed": (
        "entry-points",
        "replay-sim of replay-sim is not installed",
        edit("replay-sim", "scripts", {"replay-sim": False}),
    ),
    "module of another version": (
        "versions",
        "kv_router.__version__: expected 0.13.0, found 0.12.0",
        set_("packages/kv_router/version", "0.12.0"),
    ),
    "build information of another version": (
        "versions",
        "replay_sim/build-info.json",
        set_("packages/replay_sim/build_info/version", "0.12.0"),
    ),
    "module of another revision": (
        "revisions",
        "kv_router.__revision__: expected",
        set_("packages/kv_router/revision", "c" * 40),
    ),
    "no build information": (
        "revisions",
        "kv_router/build-info.json: expected",
        set_("packages/kv_router/build_info", None),
    ),
    "build information of another tree": (
        "revisions",
        "expected tree",
        set_("packages/kv_router/build_info/tree", "c" * 64),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", PLANTED)
def test_planted_in_the_environment(tmp_path: Path, kind: Kind, fault: str) -> None:
    facts = sound_facts(tmp_path, kind)
    check, words, breaker = PLANTED[fault]
    probe = copy.deepcopy(facts.probe)
    breaker(probe)
    assert probe != facts.probe, "the fault was planted"
    said = found(replace(facts, probe=probe))
    assert any(words in problem for problem in said[check]), said


IMAGE_FAULTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no user": ("image-privileges", "the image's user is not set", {"user": ""}),
    "root by name": ("image-privileges", "the image's user is root", {"user": "root"}),
    "root by number": ("image-privileges", "the image's user is 0:0", {"user": "0:0"}),
    "other revision": ("revisions", f"label {REVISION_LABEL}", {"labels": {}}),
    "compiler": (
        "image-contents",
        "compiler /usr/bin/gcc",
        {"files": (ImageFile("usr/bin/gcc", 0o755, 1),)},
    ),
    "package cache": (
        "image-contents",
        "package cache /root/.cache/pip/x",
        {"files": (ImageFile("root/.cache/pip/x", 0o644, 1),)},
    ),
    "set-uid program": (
        "image-contents",
        "/usr/bin/su runs with its owner's rights",
        {"files": (ImageFile("usr/bin/su", 0o4755, 1),)},
    ),
    "world-writable file": (
        "image-contents",
        "/etc/passwd can be written by everyone",
        {"files": (ImageFile("etc/passwd", 0o666, 1),)},
    ),
    "other program": ("image-contents", "its entrypoint is sh", {"entrypoint": ("/bin/sh",)}),
    "no program": ("image-contents", "its entrypoint is none", {"entrypoint": ()}),
}


@pytest.mark.parametrize("fault", IMAGE_FAULTS)
def test_planted_in_the_image(tmp_path: Path, fault: str) -> None:
    facts = sound_facts(tmp_path, "cpu")
    assert facts.image is not None
    check, words, changes = IMAGE_FAULTS[fault]
    said = found(replace(facts, image=replace(facts.image, **changes)))
    assert list(said) == [check]
    assert any(words in problem for problem in said[check]), said


@pytest.mark.parametrize(
    ("breaker", "words"),
    [
        (set_("process/uid", 0), "as uid 0"),
        (set_("process/gid", 0), "as gid 0"),
        (set_("process/capabilities", 1 << 21), "capabilities: 0x200000"),
        (set_("process/no_new_privileges", False), "gain privileges"),
        (set_("writable", ["/etc"]), "write to /etc"),
    ],
)
def test_planted_in_the_process(tmp_path: Path, breaker: Breaker, words: str) -> None:
    facts = sound_facts(tmp_path, "gpu")
    breaker(facts.probe)
    said = found(facts)
    assert list(said) == ["image-privileges"]
    assert words in said["image-privileges"][0]


def test_planted_in_the_wheelhouse(tmp_path: Path) -> None:
    facts = sound_facts(tmp_path, "cpu")
    path = facts.wheels["simw"].path
    path.write_bytes(path.read_bytes() + b"\0")
    wheels = {**facts.wheels, "simw": type(facts.wheels["simw"])(path)}
    said = found(replace(facts, wheels=wheels))
    assert list(said) == ["installed-bytes"]
    assert "is not the manifest's" in said["installed-bytes"][0]


def with_wheel(facts: Facts, spec: WheelSpec, folder: Path) -> Facts:
    """Put another wheel in the place of the one of its name, in the manifest as well."""
    folder.mkdir()
    wheel = Wheel(spec.write(folder))
    entries = tuple(
        describe(wheel, own=True, revision=e.revision) if e.name == wheel.name else e
        for e in facts.manifest.wheels
    )
    manifest = replace(facts.manifest, wheels=entries)
    return replace(facts, manifest=manifest, wheels={**facts.wheels, wheel.name: wheel})


def test_wheel_without_command(tmp_path: Path) -> None:
    spec = first_party("replay-sim", extension=extension())
    facts = with_wheel(sound_facts(tmp_path, "cpu"), spec, tmp_path / "new")
    assert found(facts)["entry-points"] == [
        "the wheel of replay-sim declares no command replay-sim"
    ]


def test_wheel_without_extension(tmp_path: Path) -> None:
    facts = with_wheel(sound_facts(tmp_path, "cpu"), first_party("kv-router"), tmp_path / "new")
    (problem,) = found(facts)["loaded-extensions"]
    assert problem.endswith("carries no extension")


def test_two_versions_of_ours(tmp_path: Path) -> None:
    spec = first_party("kv-router", extension=extension(), version="0.13.1")
    facts = with_wheel(sound_facts(tmp_path, "cpu"), spec, tmp_path / "new")
    assert "our wheels have different versions" in found(facts)["versions"]


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("entry-points", {"usage": outcome("", "--help", exit_code=1)}),
        ("entry-points", {"usage": outcome("", "--help")}),
        ("versions", {"version": outcome(f"replay-sim 0.13.1 ({'a' * 40})", "--version")}),
        ("revisions", {"version": outcome(f"replay-sim 0.13.0 ({'c' * 40})", "--version")}),
        ("revisions", {"version": outcome("replay-sim 0.13.0 (aaaaaaa)", "--version")}),
    ],
)
def test_planted_in_the_command(tmp_path: Path, check: str, change: dict[str, Any]) -> None:
    assert list(found(replace(sound_facts(tmp_path, "cpu"), **change))) == [check]


def installed(facts: Facts, **changes: Any) -> dict[str, list[str]]:
    assert facts.installation is not None
    return found(replace(facts, installation=replace(facts.installation, **changes)))


def test_planted_in_the_install_report(tmp_path: Path) -> None:
    facts = sound_facts(tmp_path, "host")
    assert facts.installation is not None
    assert facts.installation.report is not None
    for breaker, words in (
        (lambda r: r["install"].pop(), "pip took nothing"),
        (lambda r: r["install"][0]["metadata"].update(version="9"), "pip took ('9'"),
        (
            lambda r: r["install"][0]["download_info"].update(url="https://x/y.whl"),
            "not from file:",
        ),
        (lambda r: r["install"][0]["download_info"].update(archive_info={}), "None)"),
    ):
        report = copy.deepcopy(facts.installation.report)
        breaker(report)  # type: ignore[no-untyped-call]
        said = installed(facts, report=report)
        assert list(said) == ["install-report"]
        assert words in said["install-report"][0]


@pytest.mark.parametrize(
    ("stdout", "exit_code"),
    [
        ("simw 0.13.0 is not supported on this platform\n", 0),
        ("No broken requirements found.\n", 1),
        ("", 0),
        ("warning\nNo broken requirements found.\n", 0),
    ],
)
def test_planted_in_pip_check(tmp_path: Path, stdout: str, exit_code: int) -> None:
    check = outcome(stdout, exit_code=exit_code)
    assert list(installed(sound_facts(tmp_path, "host"), check=check)) == ["pip-check"]


def test_pip_check_not_run(tmp_path: Path) -> None:
    assert list(installed(sound_facts(tmp_path, "host"), check=None)) == ["pip-check"]


def test_every_check_has_a_planted_fault() -> None:
    """A check that no test turns red could be silent for ever."""
    tested = {check for check, _, _ in (*PLANTED.values(), *IMAGE_FAULTS.values())}
    tested |= {"install-report", "pip-check"}
    assert tested == {checks.name_of(check) for check in checks.ALL}
