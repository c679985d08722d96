"""Development versions: in both spellings, in our own packages only, and away again."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from tests.harness.pins.trees import PINS, contents, write

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

OWN = (
    PINS
    + '\n[[pin]]\nname = "release"\nversion = "0.13.0"\ncrates = ["core", "core-py"]\n'
    + ('distributions = ["core"]\n')
)
LOCK = """version = 4

[[package]]
name = "core"
version = "0.13.0"

[[package]]
name = "core-py"
version = "0.13.0"
dependencies = [
 "core",
]

[[package]]
name = "same"
version = "0.13.0"
source = "registry+https://example.invalid/index"
checksum = "{}"

[[package]]
name = "tools"
version = "0.13.0"
""".format("c" * 64)


def tree(root: Path) -> Path:
    return write(
        root,
        {
            "Cargo.toml": '[workspace]\nmembers = ["core", "py", "tools"]\n'
            '[workspace.package]\nversion = "0.13.0" # 0.13.0\n'
            '[workspace.dependencies]\ncore = { path = "core", version = "=0.13.0" }\n'
            'same = "=0.13.0"\n',
            "core/Cargo.toml": '[package]\nname = "core"\nversion.workspace = true\n'
            "[dependencies]\nsame.workspace = true\n",
            "py/Cargo.toml": '[package]\nname = "core-py"\nversion.workspace = true\n'
            '[dependencies]\ncore = { path = "../core", version = "0.13.0" }\n',
            "py/pyproject.toml": '[project]\nname = "core"\ndynamic = ["version"]\n'
            '[build-system]\nrequires = ["maturin"]\nbuild-backend = "maturin"\n',
            "tools/Cargo.toml": '[package]\nname = "tools"\nversion = "0.13.0"\n',
            "Cargo.lock": LOCK,
            "docs/requirements.txt": "core==0.13.0\nsame==0.13.0\nsim==0.13.0\n",
        },
        OWN,
    )


def pins(root: Path, *words: str) -> int:
    return main(["pins", *words, "--root", str(root)])


def test_stamp_and_unstamp(tmp_path: Path) -> None:
    root = tree(tmp_path)
    before = contents(root)
    assert pins(root, "check") == 0
    assert pins(root, "stamp", "--dev", "20261130") == 0
    stamped = {path: data.decode() for path, data in contents(root).items()}
    assert stamped["Cargo.toml"].count("0.13.0-dev.20261130") == 2
    assert 'version = "0.13.0-dev.20261130" # 0.13.0\n' in stamped["Cargo.toml"]
    assert 'same = "=0.13.0"\n' in stamped["Cargo.toml"]
    assert 'version = "0.13.0-dev.20261130"' in stamped["py/Cargo.toml"]
    assert stamped["Cargo.lock"] == LOCK.replace('"0.13.0"', '"0.13.0-dev.20261130"', 2)
    assert stamped["docs/requirements.txt"] == (
        "core==0.13.0.dev20261130\nsame==0.13.0\nsim==0.13.0\n"
    )
    # No pin names it: it is not released with the others.
    assert stamped["tools/Cargo.toml"] == before["tools/Cargo.toml"].decode()
    assert stamped["deps/pins.toml"] == before["deps/pins.toml"].decode().replace(
        'name = "release"\nversion = "0.13.0"', 'name = "release"\nversion = "0.13.0.dev20261130"'
    )
    assert pins(root, "check") == 0
    again = contents(root)
    assert pins(root, "stamp", "--dev", "20261130") == 0
    assert contents(root) == again
    assert pins(root, "stamp", "--dev", "20261201") == 0
    assert b"0.13.0-dev.20261201" in contents(root)["Cargo.toml"]
    assert pins(root, "unstamp") == 0
    assert contents(root) == before
    assert pins(root, "unstamp") == 0
    assert contents(root) == before


def test_without_a_pin_every_own_package_is_stamped(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "app"\nversion = "0.13.0rc1"\n'
            'dependencies = ["sim==0.13.0"]\n'
        },
    )
    assert pins(root, "stamp", "--dev", "20261130") == 0
    text = (root / "pyproject.toml").read_text("utf-8")
    assert 'version = "0.13.0rc1.dev20261130"' in text
    assert "sim==0.13.0" in text


@pytest.mark.parametrize("date", ["2026-11-30", "now", "2026113", ""])
def test_dates_are_dates(date: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(tmp_path)
    before = contents(root)
    assert pins(root, "stamp", "--dev", date) == 2
    assert "YYYYMMDD" in capsys.readouterr().err
    assert contents(root) == before


@pytest.mark.parametrize("version", ["0.13.0.dev3", "0.13.0-rc1", "v0.13"])
def test_a_version_that_could_not_be_restored_is_refused(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'[package]\nname = "app"\nversion = "{version}"\n'
    root = write(tmp_path, {"Cargo.toml": text})
    before = contents(root)
    assert pins(root, "stamp", "--dev", "20261130") == 2
    assert "Cargo.toml:3" in capsys.readouterr().err
    assert contents(root) == before
