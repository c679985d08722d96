"""pip check, with no line filtered away."""

from __future__ import annotations

from collections.abc import Iterator

from harness.smoke.facts import Facts

TITLE = "pip check has nothing to say"
KINDS = ("host",)
CLEAN = "No broken requirements found."


def problems(facts: Facts) -> Iterator[str]:
    """Yield every line of pip check that is not its all-clear."""
    assert facts.installation is not None
    check = facts.installation.check
    if check is None:
        yield "pip check was not run"
        return
    lines = (check.stdout + check.stderr).decode("utf-8", "replace").splitlines()
    yield from (line for line in lines if line.strip() != CLEAN)
    if check.exit_code != 0 or not any(line.strip() == CLEAN for line in lines):
        yield f"pip check ended with {check.exit_code} and without its all-clear"
