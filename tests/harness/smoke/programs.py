"""Host lanes on small real programs: what the smoke run does, without building anything."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.smoke.lanes.host import HostLane
from harness.smoke.offline import Cut

# The beginning of every stand-in for replay-sim: its arguments, and a well-behaved replay.
PRELUDE = """
import json, sys, time
from pathlib import Path
args = sys.argv[1:]
def option(name, default=None):
    return args[args.index(name) + 1] if name in args else default
def replay(lines):
    rows = [json.loads(line) for line in lines]
    return {"summary": {"num_requests": len(rows), "workers": int(option("--workers", 1))}}
"""
SOUND = "print(json.dumps(replay(open(args[1]))))"


def program_lane(folder: Path, body: str, name: str = "host-test") -> HostLane:
    """Return a lane whose `replay-sim` is this Python text, behind PRELUDE."""
    binaries = folder / name / "env" / "bin"
    binaries.mkdir(parents=True)
    program = binaries / "replay-sim"
    program.write_text(f"#!{sys.executable} -I\n{PRELUDE}\n{body}\n", "utf-8")
    program.chmod(0o755)
    return HostLane(name, binaries.parent, Cut((), "not cut"))
