"""What every lane offers: running the product, and Python beside it, on some files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from harness.smoke.outcome import Outcome
from harness.smoke.scratch import scratch

Kind = Literal["host", "cpu", "gpu"]
Program = Literal["replay-sim", "python"]


@dataclass(frozen=True)
class Work:
    """The files of one case: read-only `inputs` and `trace`, and `out`, where it may write."""

    inputs: Path
    out: Path
    trace: Path | None

    def written(self) -> dict[str, bytes]:
        """Return the files under `out`, by relative path."""
        files = sorted(path for path in self.out.rglob("*") if path.is_file())
        return {str(path.relative_to(self.out)): path.read_bytes() for path in files}


class Lane(Protocol):
    """A place where `replay-sim` is installed and can be run with no network."""

    @property
    def name(self) -> str:
        """What tables and evidence call it."""
        ...

    @property
    def kind(self) -> Kind:
        """Which checks judge it."""
        ...

    def places(self, work: Work) -> dict[str, str]:
        """Return where the runs see the files: placeholder name to path."""
        ...

    def run(self, program: Program, args: Sequence[str], *, work: Work, timeout: float) -> Outcome:
        """Run a program of the environment to its end, or until `timeout` seconds passed."""
        ...


@contextmanager
def workspace(files: Mapping[str, str], trace: Path | None) -> Iterator[Work]:
    """Give a case its files, outside the checkout; they are gone afterwards."""
    with scratch() as folder:
        work = Work(folder / "inputs", folder / "out", trace)
        work.inputs.mkdir()
        work.out.mkdir()
        for file, text in files.items():
            (work.inputs / file).write_text(text, "utf-8")
        # An image's own user is neither us nor of our group.
        work.inputs.chmod(0o755)
        work.out.chmod(0o777)
        yield work
