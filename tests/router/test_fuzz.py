"""Random command sequences through Python: nothing breaks, refusals leave no trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kv_router
from kv_router import (
    AffinityConfig,
    Cleared,
    OfflineRouter,
    Removed,
    Request,
    RouterConfig,
    RouterError,
    Session,
    Stored,
    WorkerConfig,
)

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

LOCAL = [list(range(100 * family, 100 * family + 8)) for family in range(3)]
CHAINS = [kv_router.sequence_hashes(local) for local in LOCAL]

requests = st.integers(0, 8)
workers = st.integers(0, 2)
ranks = st.integers(0, 1)
families = st.integers(0, 2)
commands = st.one_of(
    st.tuples(st.just("place"), requests, families, st.integers(0, 140), workers | st.none()),
    st.tuples(st.just("store"), workers, ranks, families, st.integers(0, 8)),
    st.tuples(st.just("remove"), workers, ranks, families, st.integers(0, 8)),
    st.tuples(st.just("clear"), workers, ranks),
    st.tuples(st.just("dispatch_committed"), requests, workers, ranks),
    st.tuples(
        st.sampled_from(["dispatch_aborted", "prefill_completed", "request_terminal", "cancel"]),
        requests,
    ),
    st.tuples(st.just("worker_ready"), workers, st.integers(0, 2)),
    st.tuples(st.sampled_from(["worker_draining", "worker_fenced", "worker_removed"]), workers),
    st.tuples(st.just("worker_overloaded"), workers, st.booleans()),
    st.tuples(st.sampled_from(["topology_settled", "advance_clock"])),
)
steps = st.sampled_from([0.0, 0.0, 1.0, 3000.0, -1.0, float("nan")])
configs = st.builds(
    RouterConfig,
    seed=st.integers(0, 2**64 - 1),
    router_queue_threshold=st.sampled_from([None, 0.0]),
    router_queue_policy=st.sampled_from(["fcfs", "lcfs", "wspt"]),
    affinity=st.none()
    | st.builds(
        AffinityConfig,
        ttl_secs=st.just(2.5),
        binding=st.sampled_from(["hard", "soft"]),
        max_entries=st.integers(1, 3),
    ),
)


def run(router: OfflineRouter, now_ms: float, command: tuple[Any, ...]) -> None:
    match command:
        case ("place", request_id, family, isl, pinned):
            chain = CHAINS[family][: isl // 16]
            session = Session(session_id=f"s{request_id % 4}")
            router.place(now_ms, Request(request_id, isl, chain, session=session, pinned=pinned))
        case ("store", worker, rank, family, count):
            event = Stored(CHAINS[family][:count], LOCAL[family][:count])
            router.observe(now_ms, worker, rank, event)
        case ("remove", worker, rank, family, start):
            router.observe(now_ms, worker, rank, Removed(CHAINS[family][start:]))
        case ("clear", worker, rank):
            router.observe(now_ms, worker, rank, Cleared())
        case ("worker_ready", worker, dp_size):
            router.worker_ready(now_ms, WorkerConfig(worker_id=worker, dp_size=dp_size))
        case (name, *arguments):
            getattr(router, name)(now_ms, *arguments)


def attempt(router: OfflineRouter, now_ms: float, command: tuple[Any, ...]) -> RouterError | None:
    try:
        run(router, now_ms, command)
    except RouterError as error:
        return error
    return None


@settings(max_examples=300, deadline=None, derandomize=True)
@given(configs, st.lists(st.tuples(steps, commands), max_size=60))
def test_random_commands(
    config: RouterConfig, sequence: list[tuple[float, tuple[Any, ...]]]
) -> None:
    router = OfflineRouter(config, [WorkerConfig(worker_id=0, dp_size=2)])
    twin = OfflineRouter(config, [WorkerConfig(worker_id=0, dp_size=2)])
    now_ms = 0.0
    for step, command in sequence:
        before = router.state_digest()
        error = attempt(router, now_ms + step, command)
        if error is not None and error.kind != "binding_violated":
            assert router.state_digest() == before, (command, error)
            continue
        assert str(attempt(twin, now_ms + step, command)) == str(error)
        now_ms += step
        assert router.state_digest() == twin.state_digest()
    for request_id in range(9):
        router.request_terminal(now_ms, request_id)
    assert router.pending_count() == 0
    assert all(load.active_requests == 0 for load in router.loads())
    json.dumps(router.evidence())
