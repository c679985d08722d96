"""`explain` shows every place and how it was understood; `discover` proposes a pins file."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from harness.pins import config
from harness.pins.text import Document
from tests.harness.pins.trees import CASES, OTHER, PIN, URL, load_cases, report, write

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["pins", *words]) == 0
    return capsys.readouterr().out


def test_explain_a_pin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(
        tmp_path,
        {
            "requirements.txt": "sim==0.12.0\n",
            "Dockerfile": f"ARG SIM_REV={PIN}\nFROM python:3.12\nRUN pip install sim==$UNKNOWN\n",
        },
    )
    text = run(capsys, "explain", "simulator", "--root", str(root))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines == [
        "pin simulator (deps/pins.toml:4)",
        "version 0.13.0",
        f"revision {PIN}",
        f"repository {URL}",
        "about crate sim-core, crate sim-py, distribution sim, distribution sim-py, "
        "build-arg SIM_REV, repository example.invalid/o/sim",
        f"Dockerfile:1:13 agrees {PIN} ARG",
        "Dockerfile:3:22 unresolved … RUN pip",
        "requirements.txt:1:6 off 0.12.0 requirement",
    ]
    assert text == run(capsys, "explain", "sim", "--root", str(root))


def test_explain_something_unpinned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, {"Dockerfile": "FROM alpine:3.20\nCOPY --from=alpine:3.21 / /\n"})
    text = run(capsys, "explain", "docker.io/library/alpine", "--root", str(root))
    assert [line.split()[0] for line in text.splitlines()] == ["Dockerfile:1:13", "Dockerfile:2:20"]
    assert main(["pins", "explain", "debian", "--root", str(root)]) == 2


def test_what_discover_proposes_finds_the_odd_one_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dependency = f'[dependencies.sim-core]\ngit = "{URL}"\nrev = "{{}}"\n'
    package = '[package]\nname = "{}"\nversion = "0.1.0"\n'
    root = write(
        tmp_path,
        {
            "a/Cargo.toml": package.format("a") + dependency.format(PIN),
            "b/Cargo.toml": package.format("b") + dependency.format(PIN),
            "c/Cargo.toml": package.format("c") + dependency.format(OTHER),
            "Dockerfile": f"ARG SIM_REV={PIN}\nFROM python:3.12-slim\nFROM rust:1.95-slim\n"
            f"FROM tool:2@sha256:{'a' * 64}\nRUN pip install ruff==1.0\n",
            "rust-toolchain.toml": '[toolchain]\nchannel = "1.95.0"\n',
            "x/requirements.txt": "ruff==1.0\n",
            ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n"
            f"      - uses: o/r@{'5' * 40} # v4.2.2\n",
        },
    )
    text = run(capsys, "discover", "--root", str(root))
    pins = config.parse(Document("deps/pins.toml", text.encode()))
    assert [pin.name for pin in pins.pins] == ["rust", "python", "sim", "tool", "r-action", "ruff"]
    assert pins.find("sim").build_args == ("SIM_REV",)
    (root / "deps/pins.toml").write_text(text, "utf-8")
    errors = {(f.code, f.file) for f in report(root).findings if f.severity == "error"}
    assert errors == {("revision-off-pin", "c/Cargo.toml")}


@pytest.mark.parametrize("case", load_cases(CASES), ids=lambda case: case.name)
def test_a_proposal_is_always_a_pins_file(case: object, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "discover", "--root", str(case.tree))  # type: ignore[attr-defined]
    config.parse(Document("deps/pins.toml", text.encode()))
