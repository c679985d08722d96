"""Speed of `kv-router` through its Python API, beside the published peer when one is installed.

    python tests/bench/bench_router.py [--trace FILE] [--peer PYTHON] [--rounds N]

Cache events and matches run over the hash chains of a Mooncake trace (without one, of a synthetic
trace), spread over 1, 8 and 64 workers; events and chains are made beforehand. `--peer` names the
interpreter of an environment that has `ai-dynamo-runtime` (never the project's own). The two
alternate in fresh processes; the best pass of the best round counts, and ratios are what to look
at.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

import kv_router
from kv_router import LocalScheduler, OfflineRouter, RadixTree, Request, Stored, WorkerConfig

WORKERS = (1, 8, 64)
CHAINS = 2000
TOKENS = 1 << 20
SELECTIONS = 20_000
PASSES = 5
Prepared = TypeVar("Prepared")
PEER = f"""
import json, sys, time
from dynamo._core import RadixTree, compute_block_hash_for_seq
chains = json.load(open(sys.argv[1]))
rates = {{}}
def measure(name, count, work, prepare=lambda: None):
    best = float("inf")
    for _ in range({PASSES}):
        prepared = prepare()
        start = time.perf_counter()
        work(prepared)
        best = min(best, time.perf_counter() - start)
    rates[name] = count / best
for workers in {WORKERS}:
    events = []
    for number, chain in enumerate(chains):
        blocks = [dict(block_hash=hash, tokens_hash=hash) for hash in chain]
        stored = dict(stored=dict(parent_hash=None, blocks=blocks))
        events.append((number % workers, json.dumps(dict(event_id=number, data=stored)).encode()))
    def store(tree):
        for worker, event in events:
            tree.apply_event(worker, event)
    def match(_):
        for chain in chains:
            tree.find_matches(chain)
    measure(f"store events, {{workers}} workers", len(events), store, RadixTree)
    tree = RadixTree()
    store(tree)
    measure(f"matches, {{workers}} workers", len(chains), match)
    rates[f"matches from lists, {{workers}} workers"] = rates[f"matches, {{workers}} workers"]
tokens = list(range({TOKENS}))
hash_all = lambda _: compute_block_hash_for_seq(tokens, 16)
measure("tokens hashed, from a list", len(tokens), hash_all)
print(json.dumps(rates))
"""


def per_second(
    count: int, work: Callable[[Prepared], object], prepare: Callable[[], Prepared]
) -> float:
    """How often a second something happens that happens `count` times in `work`, at best."""
    best = float("inf")
    for _ in range(PASSES):
        prepared = prepare()
        start = time.perf_counter()
        work(prepared)
        best = min(best, time.perf_counter() - start)
    return count / best


def read_chains(trace: Path | None) -> list[list[int]]:
    """The block ids of the first requests, as chains of block hashes."""
    if trace is None:
        return [list(range(100 * (i // 4), 100 * (i // 4) + 24)) for i in range(CHAINS)]
    with trace.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(CHAINS), lines, strict=False)]
    return [[1 + block for block in row["hash_ids"]] for row in rows]


def measure(chains: list[list[int]]) -> dict[str, float]:
    """Rates of this router, per second."""
    rates = {}
    # The peer takes lists only; an array saves reading a list of integers one by one.
    sequences = [array("Q", kv_router.sequence_hashes(chain)) for chain in chains]
    lists = [list(sequence) for sequence in sequences]
    for workers in WORKERS:
        pairs = list(zip(sequences, chains, strict=True))
        events = [(i % workers, Stored(*pair)) for i, pair in enumerate(pairs)]

        def store(tree: RadixTree, events: list[tuple[int, Stored]] = events) -> None:
            for worker, event in events:
                tree.apply(worker, 0, event)

        def full(store: Callable[[RadixTree], None] = store) -> RadixTree:
            store(tree := RadixTree())
            return tree

        def match(tree: RadixTree) -> None:
            for sequence in sequences:
                tree.find_matches(sequence)

        def match_lists(tree: RadixTree) -> None:
            for sequence in lists:
                tree.find_matches(sequence)

        rates[f"store events, {workers} workers"] = per_second(len(events), store, RadixTree)
        rates[f"matches, {workers} workers"] = per_second(len(chains), match, full)
        rates[f"matches from lists, {workers} workers"] = per_second(len(chains), match_lists, full)
    tokens = list(range(TOKENS))
    view = memoryview(bytearray(4 * TOKENS)).cast("I")
    rates["tokens hashed, from a list"] = per_second(
        TOKENS, lambda tokens: kv_router.block_hashes(tokens, 16), lambda: tokens
    )
    rates["tokens hashed, from a buffer"] = per_second(
        TOKENS, lambda view: kv_router.block_hashes(view, 16), lambda: view
    )

    def select(router: OfflineRouter) -> None:
        for i in range(SELECTIONS):
            router.place(float(i), Request(i, 400, sequences[i % CHAINS][:24]))
            if i >= 64:
                router.request_terminal(float(i), i - 64)

    fleet = [WorkerConfig(worker_id=i) for i in range(8)]
    rates["selections, 8 workers"] = per_second(
        SELECTIONS, select, lambda: OfflineRouter(kv_router.RouterConfig(), fleet)
    )
    return rates


def drain_touches(pending: int) -> int:
    """Waiters looked at by one drain that frees one worker beside a backlog of another."""
    config = kv_router.RouterConfig(router_queue_threshold=0.0)
    scheduler = LocalScheduler(config, [WorkerConfig(worker_id=i) for i in range(2)])
    for worker in range(2):
        scheduler.schedule(0.0, Request(worker, 64, pinned=worker))
    for i in range(pending):
        scheduler.schedule(0.0, Request(10 + i, 64, pinned=(0, 0)))
    scheduler.schedule(0.0, Request(2, 64, pinned=(1, 0)))
    before = scheduler.drain_touches()
    scheduler.free(1.0, 1)
    return scheduler.drain_touches() - before


def run(python: str, *arguments: str) -> dict[str, float]:
    """Rates that a fresh process prints."""
    command = [python, *arguments]
    env = {**os.environ, "DYN_LOG": "error"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=env)
    rates: dict[str, float] = json.loads(done.stdout)
    return rates


def best(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The highest rate of each kind."""
    return {name: max(rates[name] for rates in rounds) for name in rounds[0]}


def main() -> None:
    """Measure, alternate with the peer, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path, help="a Mooncake trace")
    parser.add_argument("--peer", default=os.environ.get("PEER_PYTHON"), metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes of each")
    parser.add_argument("--once", type=Path, metavar="CHAINS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measure(json.loads(options.once.read_text(encoding="utf-8")))))
        return
    with tempfile.TemporaryDirectory() as folder:
        chains = Path(folder) / "chains.json"
        chains.write_text(json.dumps(read_chains(options.trace)), encoding="utf-8")
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run(sys.executable, str(Path(__file__)), "--once", str(chains)))
            if options.peer:
                theirs.append(run(options.peer, "-c", PEER, str(chains)))
    peer = best(theirs) if theirs else {}
    table = Table("through Python, per second", "kv-router", "peer", "ratio", title="kv-router")
    for name, rate in best(ours).items():
        other = peer.get(name)
        ratio = f"{rate / other:.1f}" if other else ""
        table.add_row(name, f"{rate:,.0f}", f"{other:,.0f}" if other else "", ratio)
    console = Console()
    console.print(table)
    for pending in (128, 1024, 4096, 16_384):
        console.print(
            f"drain beside {pending:,} unrelated waiters: {drain_touches(pending)} touched"
        )


if __name__ == "__main__":
    main()
