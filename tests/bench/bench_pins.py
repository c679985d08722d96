"""How long a cold `harness pins check` takes, beside `cargo metadata --locked --offline`.

Both are measured on this repository and on a made one of 5,000 tracked files; imports, start of the
interpreter and everything else included. Best of five.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHECK = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]
FILES = 5000
CRATES = 40


def best(command: list[str], cwd: Path) -> float:
    """Return the least wall time of five runs, in seconds."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=300, check=False)
        times.append(time.perf_counter() - start)
        if done.returncode > 1:
            raise SystemExit(done.stderr.decode())
    return min(times)


def make(root: Path) -> None:
    """Write a workspace of crates, Dockerfiles, workflows and sources, and track it with git."""
    line = '    value = compute(value, 0x1234abcd, "text that is no pin")  # and a comment\n'
    write(root / "deps/pins.toml", 'schema = 1\n[[pin]]\nname = "python"\nversion = "3.12"\n'
          'toolchain = "python"\nimages = ["python"]\n')  # fmt: skip
    write(root / "Cargo.toml", '[workspace]\nresolver = "2"\nmembers = ["crates/*"]\n')
    for number in range(CRATES):
        crate = root / f"crates/c{number}"
        write(crate / "Cargo.toml", f'[package]\nname = "c{number}"\nversion = "0.1.0"\n')
        write(crate / "src/lib.rs", "")
        write(crate / "Dockerfile", "FROM python:3.12-slim\nRUN pip install \\\n  a==1 b==2\n" * 5)
        step = "      - run: pip install a==1\n"
        write(root / f".github/workflows/w{number}.yml",
              f"on: push\njobs:\n  a:\n    steps:\n{step * 20}")  # fmt: skip
    suffixes = (".rs", ".py", ".md", ".c", ".txt")
    for number in range(FILES - 4 * CRATES - 2):
        suffix = suffixes[number % len(suffixes)]
        write(root / f"src/d{number % 70}/f{number}{suffix}", line * (20 + number % 200))
    lock = "".join(
        f'\n[[package]]\nname = "c{n}"\nversion = "0.1.0"\n' for n in sorted(range(CRATES), key=str)
    )
    write(root / "Cargo.lock", f"version = 4\n{lock}")
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=root, check=True, timeout=300)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def show(name: str, root: Path) -> None:
    check = best([*CHECK, "pins", "check", "--root", str(root)], root)
    text = f"{name}: harness pins check {check * 1000:.0f} ms"
    if shutil.which("cargo") is not None:
        command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
        beside = best(command, root)
        text += f", cargo metadata {beside * 1000:.0f} ms (ratio {check / beside:.2f})"
    print(text)


if __name__ == "__main__":
    show("this repository", ROOT)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        show(f"{FILES} tracked files", Path(folder))
