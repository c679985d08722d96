"""The CI workflows: zizmor finds nothing in them, and all that they run is make."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

FOLDER = Path(__file__).resolve().parents[2] / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
MAKE = re.compile(r"(sudo )?make [a-z]+")


def audit(folder: Path) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).with_name("zizmor"))
    return subprocess.run(
        [program, "--offline", "--no-progress", "--color=never", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_the_audit_finds_nothing() -> None:
    done = audit(FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("sound", "planted", "audit_name"),
    [
        ("persist-credentials: false", "lfs: false", "artipacked"),
        ("pull_request:", "pull_request_target:", "dangerous-triggers"),
        ("make check", 'echo "${{ github.event.pull_request.title }}"', "template-injection"),
        ("@11bd71901bbe5b1630ceea73d27597364c9af683", "@v4", "unpinned-uses"),
    ],
)
def test_a_planted_fault_is_found(
    tmp_path: Path, sound: str, planted: str, audit_name: str
) -> None:
    text = (FOLDER / "pre-merge.yml").read_text(encoding="utf-8")
    assert sound in text
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "planted.yml").write_text(text.replace(sound, planted), encoding="utf-8")
    done = audit(folder)
    assert done.returncode != 0
    assert f"[{audit_name}]" in done.stdout


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_steps_call_make_and_nothing_else(workflow: Path) -> None:
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    assert [command for command in commands if not MAKE.fullmatch(command)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_the_token_may_only_read(workflow: Path) -> None:
    """The audit leaves the default of a workflow with one job alone; this does not."""
    document = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert document["permissions"] == {"contents": "read"}
    assert [name for name, job in document["jobs"].items() if "permissions" in job] == []


def test_what_a_release_does_and_in_which_order() -> None:
    """The revision is compared first; nothing is published before it was smoked."""
    release = FOLDER / "release.yml"
    commands = [step["run"].split()[-1] for step in steps(release) if "run" in step]
    assert commands == ["revision", "check", "images", "smoke", "release", "publish"]
    checkout = steps(release)[0]["with"]["ref"]
    (compared,) = (s["env"]["REVISION"] for s in steps(release) if s.get("run") == "make revision")
    assert checkout == compared == "${{ inputs.revision || github.sha }}"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_secrets_reach_the_step_that_pushes_and_no_other(workflow: Path) -> None:
    with_secrets = [step.get("run") for step in steps(workflow) if "secrets." in str(step)]
    assert with_secrets == (["make publish"] if workflow.name == "release.yml" else [])
    assert workflow.read_text(encoding="utf-8").count("secrets.") == len(with_secrets)
