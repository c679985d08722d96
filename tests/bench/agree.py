"""Agreement of `replay-sim` with the published peer on a trace, as a table of differences.

    python -m tests.bench.agree --trace FILE --peer PYTHON [--workers N...]

Round robin, polynomial timing, equal limits; prefix caching on and off. The exit code is 1 when a
figure is further off than its bound: counts must be equal, times agree to 0.1 %, the reuse ratio to
0.001.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.bench_replay import BLOCK, KV_TOKENS, measure

BLOCKS = KV_TOKENS // BLOCK
OURS = f"""
import json, sys, replay_sim
trace, workers, caching = sys.argv[1:]
result = replay_sim.run(trace, workers=int(workers), block_size={BLOCK}, num_gpu_blocks={BLOCKS},
                        prefix_caching=caching == "on")
print(json.dumps(result.summary))
"""
PEER = f"""
import json, sys
from dynamo._core import run_mocker_trace_replay
trace, workers, caching = sys.argv[1:]
engine = dict(block_size={BLOCK}, num_gpu_blocks={BLOCKS}, max_num_seqs=256,
              max_num_batched_tokens=8192, enable_prefix_caching=caching == "on")
result = run_mocker_trace_replay([trace], extra_engine_args=dict(engine=engine),
                                 num_workers=int(workers), trace_block_size=512)
print(json.dumps(result.summary))
"""
COUNTS = ("completed_requests", "total_input_tokens", "total_output_tokens")
TIMES = (
    "duration_ms",
    *(f"{stat}_ttft_ms" for stat in ("mean", "median", "p90", "p99")),
    *(f"{stat}_e2e_latency_ms" for stat in ("mean", "median", "p90", "p99")),
    "mean_itl_ms",
)
RATIO = "first_admission_prefix_cache_reused_ratio"


def main() -> int:
    """Compare every number of workers, with and without prefix caching."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--peer", required=True, metavar="PYTHON")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 8, 16], metavar="N")
    arguments = parser.parse_args()
    table = Table(title="differences from the peer (times: relative; reuse: absolute)")
    table.add_column("figure")
    worst = 0.0
    columns: list[dict[str, float]] = []
    for workers in arguments.workers:
        for caching in ("on", "off"):
            table.add_column(f"{workers}, {caching}", justify="right")
            what = (str(arguments.trace), str(workers), caching)
            ours = measure(sys.executable, OURS, what).summary
            peer = measure(arguments.peer, PEER, what).summary
            found = {name: float(ours[name] != peer[name]) for name in COUNTS}
            found |= {name: ours[name] / peer[name] - 1 for name in TIMES}
            found[RATIO] = ours[RATIO] - peer[RATIO]
            worst = max(worst, *map(abs, found.values()))
            columns.append(found)
    for name in (*COUNTS, *TIMES, RATIO):
        table.add_row(name, *(f"{column[name]:.1e}" for column in columns))
    Console(width=200).print(table)
    return int(worst > 1e-3)


if __name__ == "__main__":
    raise SystemExit(main())
