"""Selection, booking and queueing through the Python API."""

from __future__ import annotations

import pytest

import kv_router
from kv_router import LocalScheduler, Request, RouterConfig, Stored, WorkerConfig

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

LOCAL = [21, 22, 23, 24]
CHAIN = kv_router.sequence_hashes(LOCAL)


def workers(count: int) -> list[WorkerConfig]:
    return [WorkerConfig(worker_id=i, max_num_batched_tokens=160) for i in range(count)]


def ids(decisions: list[kv_router.Decision]) -> list[int]:
    return [decision.request_id for decision in decisions]


def test_cache_informs_the_choice_and_the_booking_lives_until_freed() -> None:
    scheduler = LocalScheduler(RouterConfig(), workers(4))
    scheduler.observe(0.0, 2, 0, Stored(CHAIN, LOCAL))
    decision = scheduler.schedule(1.0, Request(1, 70, CHAIN)).decision
    assert decision is not None
    assert (decision.worker_id, decision.overlap_blocks, decision.cached_tokens) == (2, 4, 64)
    scheduler.deliver(1.0, 1, decision.attempt)
    load = scheduler.loads()[2]
    assert (load.active_requests, load.active_blocks, load.active_prefill_tokens) == (1, 4, 6)
    scheduler.prefill_complete(2.0, 1)
    assert scheduler.loads()[2].active_prefill_tokens == 0
    scheduler.free(3.0, 1, decision.attempt)
    assert (scheduler.active_count(), scheduler.loads()[2].active_blocks) == (0, 0)


def test_attempts_fence_late_calls() -> None:
    scheduler = LocalScheduler(RouterConfig(), workers(1))
    attempts = []
    for _ in range(2):
        decision = scheduler.schedule(0.0, Request(1, 10)).decision
        assert decision is not None
        attempts.append(decision.attempt)
        if len(attempts) == 1:
            scheduler.rollback(0.0, 1, attempts[0])
    with pytest.raises(kv_router.StateError) as refusal:
        scheduler.free(0.0, 1, attempts[0])
    assert refusal.value.kind == "stale_attempt"
    assert scheduler.active_count() == 1
    scheduler.free(0.0, 1, attempts[1])
    assert scheduler.active_count() == 0


def test_queue_order_cancellation_and_topology() -> None:
    config = RouterConfig(router_queue_threshold=0.0, router_queue_policy="wspt")
    scheduler = LocalScheduler(config, workers(1))
    scheduler.schedule(0.0, Request(1, 160))
    for request_id, isl in [(2, 128), (3, 32), (4, 96)]:
        assert scheduler.schedule(0.0, Request(request_id, isl)).decision is None
    assert scheduler.pending_count() == 3
    scheduler.cancel(0.0, 3)
    assert ids(scheduler.prefill_complete(1.0, 1)) == [4]
    assert ids(scheduler.add_worker(2.0, WorkerConfig(worker_id=7))) == [2]
    assert scheduler.drain_touches() > 0
    scheduler.drain_worker(3.0, 7)
    scheduler.fence_worker(3.0, 0)
    assert scheduler.schedule(3.0, Request(9, 16)).decision is None
    scheduler.remove_worker(4.0, 7)
    scheduler.remove_worker(4.0, 0)
    assert ids(scheduler.add_worker(5.0, WorkerConfig(worker_id=0))) == [9]


def test_potential_loads_book_nothing() -> None:
    scheduler = LocalScheduler(RouterConfig(), workers(2))
    scheduler.observe(0.0, 1, 0, Stored(CHAIN, LOCAL))
    request = Request(1, 100, block_hashes=LOCAL)
    first, second = scheduler.potential_loads(request)
    assert (first.potential_prefill_tokens, second.potential_prefill_tokens) == (100, 36)
    assert (second.overlap_blocks, second.potential_blocks) == (4, 4)
    assert scheduler.active_count() == 0


def test_output_blocks_fading_and_overload() -> None:
    config = RouterConfig(
        router_track_output_blocks=True,
        router_prefill_load_model="ais",
        router_queue_threshold=0.0,
    )
    scheduler = LocalScheduler(config, workers(1))
    scheduler.schedule(0.0, Request(1, 64, CHAIN, expected_prefill_ms=10.0))
    scheduler.add_output_block(0.0, 1)
    scheduler.add_output_block(0.0, 1, 0.5)
    assert scheduler.loads()[0].active_blocks == 3
    scheduler.schedule(0.0, Request(2, 64))
    wakeup = scheduler.next_wakeup_ms()
    assert wakeup is not None
    assert scheduler.advance_clock(wakeup / 2) == []
    scheduler.set_overloaded(wakeup / 2, 0, True)
    assert scheduler.advance_clock(wakeup) == []
    assert ids(scheduler.set_overloaded(wakeup, 0, False)) == [2]
    assert scheduler.settle(wakeup) == []
