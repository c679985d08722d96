"""Speed and memory of `replay-sim`, beside the published peer when one is installed.

    python tests/bench/bench_replay.py [--trace FILE] [--peer PYTHON]

Each replay runs in a fresh process; the two programs alternate; medians count. `--peer` names the
interpreter of an environment that has `ai-dynamo-runtime` (never the project's own). Without a
trace, a synthetic one is made. Wall time is that of the whole process, start-up included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import replay_sim

KV_TOKENS, BLOCK = 524_288, 16
OURS = f"""
import json, sys, replay_sim
trace, router, workers = sys.argv[1:]
result = replay_sim.run(trace, router=router, workers=int(workers), block_size={BLOCK},
                        num_gpu_blocks={KV_TOKENS // BLOCK})
print(json.dumps(result.summary))
"""
PEER = f"""
import json, sys
from dynamo._core import run_mocker_trace_replay
trace, router, workers = sys.argv[1:]
engine = dict(block_size={BLOCK}, num_gpu_blocks={KV_TOKENS // BLOCK}, max_num_seqs=256,
              max_num_batched_tokens=8192)
result = run_mocker_trace_replay([trace], extra_engine_args=dict(engine=engine),
                                 num_workers=int(workers), router_mode=router,
                                 trace_block_size=512)
print(json.dumps(result.summary))
"""


@dataclass(frozen=True)
class Measured:
    """One process: wall and CPU seconds, peak memory in MB, the summary it printed."""

    seconds: float
    cpu_seconds: float
    megabytes: float
    summary: dict[str, float]


def measure(python: str, code: str, arguments: Sequence[str]) -> Measured:
    """Run one replay in a fresh process."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            [python, "-c", code, *arguments],
            stdout=output,
            env={**os.environ, "DYN_LOG": "error"},
        )
        # Popen.wait() would take the child's resource usage away.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode != 0:
            raise SystemExit(f"{python} failed with {process.returncode}")
        output.seek(0)
        summary = json.loads(output.read())
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, summary)


def median(runs: Sequence[Measured], field: str) -> float:
    """Return the median of a field over several runs."""
    return float(statistics.median(getattr(run, field) for run in runs))


def main() -> int:
    """Measure every router and number of workers, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--trace", type=Path, help="Mooncake trace with blocks of 512 tokens")
    parser.add_argument("--peer", default=os.environ.get("PEER_PYTHON"), metavar="PYTHON")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 16], metavar="N")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    arguments = parser.parse_args()
    table = Table(title=f"medians of {arguments.repeat} processes")
    for column in ("router", "workers", "s", "CPU s", "MB", "requests/s"):
        table.add_column(column, justify="left" if column == "router" else "right")
    for column in ("peer s", "peer CPU s", "peer MB", "faster", "less CPU", "less memory"):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        trace = arguments.trace
        if trace is None:
            trace = Path(folder) / "sample.jsonl"
            trace.write_text(replay_sim.sample_trace(12_000, 1), encoding="utf-8")
        for router in ("round_robin", "kv_router"):
            for workers in arguments.workers:
                what = (str(trace), router, str(workers))
                ours, peer = [], []
                for _ in range(arguments.repeat):
                    ours.append(measure(sys.executable, OURS, what))
                    if arguments.peer:
                        peer.append(measure(arguments.peer, PEER, what))
                table.add_row(router, str(workers), *figures(ours, peer))
    Console(width=140).print(table)
    return 0


def figures(ours: Sequence[Measured], peer: Sequence[Measured]) -> list[str]:
    """Return the cells of one row."""
    fields = ("seconds", "cpu_seconds", "megabytes")
    here = [median(ours, field) for field in fields]
    rate = ours[0].summary["completed_requests"] / here[0]
    cells = [f"{here[0]:.2f}", f"{here[1]:.2f}", f"{here[2]:.0f}", f"{rate:,.0f}"]
    if not peer:
        return [*cells, *"------"]
    there = [median(peer, field) for field in fields]
    cells += [f"{there[0]:.2f}", f"{there[1]:.2f}", f"{there[2]:.0f}"]
    return cells + [f"{b / a:.1f}x" for a, b in zip(here, there, strict=True)]


if __name__ == "__main__":
    raise SystemExit(main())
