"""Objects stay on their thread, long calls let others run, nothing runs in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kv_router
from kv_router import (
    AffinityConfig,
    LocalScheduler,
    OfflineRouter,
    RadixTree,
    RouterConfig,
    SessionAffinity,
    WorkerConfig,
)

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def elsewhere(call: Callable[[], Any]) -> Any:
    """Run a call on another thread; give its result or its exception."""
    outcome: list[Any] = []

    def target() -> None:
        try:
            outcome.append(call())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join(timeout=30)
    return outcome[0]


@pytest.mark.parametrize(
    ("make", "call"),
    [
        (lambda: OfflineRouter(RouterConfig()), OfflineRouter.pending_count),
        (lambda: LocalScheduler(RouterConfig()), LocalScheduler.pending_count),
        (lambda: SessionAffinity(AffinityConfig()), len),
        (RadixTree, len),
    ],
)
def test_another_thread_is_told_so(make: Callable[[], Any], call: Callable[[Any], int]) -> None:
    thing = make()
    error = elsewhere(lambda: call(thing))
    assert isinstance(error, kv_router.WrongThreadError)
    assert error.kind == "wrong_thread"
    assert call(thing) == 0
    assert elsewhere(lambda: call(make())) == 0


def test_hash_functions_run_on_any_thread() -> None:
    assert elsewhere(lambda: kv_router.block_hashes([1], 1)) == kv_router.block_hashes([1], 1)


def test_other_threads_run_during_a_long_call() -> None:
    # One block, so that nearly all of the call is hashing; large enough for many turns.
    tokens = np.arange(1 << 26, dtype=np.uint32)
    started, done = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        for _ in range(3):
            kv_router.block_hashes(tokens, len(tokens))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(timeout=30)
    turns = 0
    while not done.is_set():
        turns += 1
        time.sleep(0)
    thread.join(timeout=30)
    assert turns > 100


def test_routers_start_no_threads() -> None:
    tasks = Path("/proc/self/task")
    before = {task.name for task in tasks.iterdir()}
    routers = [OfflineRouter(RouterConfig(), [WorkerConfig(worker_id=0)]) for _ in range(50)]
    assert {task.name for task in tasks.iterdir()} <= before
    del routers
    assert {task.name for task in tasks.iterdir()} <= before


def test_routers_in_one_process_keep_their_own_configuration() -> None:
    queues = OfflineRouter(RouterConfig(router_queue_threshold=0.0), [WorkerConfig(worker_id=0)])
    places = OfflineRouter(RouterConfig(), [WorkerConfig(worker_id=0)])
    for router in (queues, places):
        router.place(0.0, kv_router.Request(1, 16))
        router.place(0.0, kv_router.Request(2, 16))
    assert (queues.pending_count(), places.pending_count()) == (1, 0)
