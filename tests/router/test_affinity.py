"""The affinity table through its Python API."""

from __future__ import annotations

import pytest

import kv_router
from kv_router import AffinityConfig, Hold, Lease, Session, SessionAffinity, affinity_key

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def hold(table: SessionAffinity, now_ms: float, key: str) -> Hold:
    acquired = table.acquire(now_ms, key, 1)
    assert isinstance(acquired, Hold)
    return acquired


def test_initializer_waiters_binding_and_ttl() -> None:
    table = SessionAffinity(AffinityConfig(ttl_secs=1.25))
    first = hold(table, 0.0, "k")
    assert table.acquire(0.0, "k", 2) is None
    assert table.acquire(0.0, "k", 3) is None
    assert table.withdraw("k", 3)
    assert table.is_initializing("k")
    lease, waiters = table.commit(5.0, first, 4, 1)
    assert (lease.target, lease.key, waiters) == ((4, 1), "k", [2])
    second = table.acquire(5.0, "k", 2)
    assert isinstance(second, Lease)
    assert (table.leases("k"), len(table)) == (2, 1)
    table.release(6.0, lease)
    table.release(1000.0, second)
    assert table.next_expiry_ms() == 2250.0
    assert table.query(2249.0, "k") == (4, 1)
    assert table.query(2250.0, "k") is None
    assert table.advance(2249.0) == 0
    assert table.advance(2250.0) == 1


def test_abandoning_and_joining() -> None:
    table = SessionAffinity(AffinityConfig())
    first = hold(table, 0.0, "k")
    table.acquire(0.0, "k", 7)
    joined = table.join(first)
    assert table.abandon(0.0, joined) is None
    handed = table.abandon(0.0, first)
    assert handed is not None
    assert (handed[0], handed[1].key) == (7, "k")
    with pytest.raises(kv_router.StateError) as refusal:
        table.commit(0.0, first, 0, 0)
    assert refusal.value.kind == "stale_affinity"


def test_dispatch_elsewhere_and_worker_loss() -> None:
    table = SessionAffinity(AffinityConfig(binding="soft"))
    lease, _ = table.commit(0.0, hold(table, 0.0, "k"), 0, 0)
    table.dispatched(0.0, lease, 5, 0)
    assert table.query(0.0, "k") == (5, 0)
    assert table.invalidate_worker(5) == 1
    hard = SessionAffinity(AffinityConfig())
    lease, _ = hard.commit(0.0, hold(hard, 0.0, "k"), 0, 0)
    with pytest.raises(kv_router.StateError) as refusal:
        hard.dispatched(0.0, lease, 5, 0)
    assert refusal.value.kind == "binding_violated"
    assert not hard.invalidate("k")


def test_bounds_are_checked() -> None:
    table = SessionAffinity(AffinityConfig(max_entries=1))
    hold(table, 0.0, "a")
    with pytest.raises(kv_router.CapacityError):
        table.acquire(0.0, "b", 1)
    for bad in ["", "k" * 257]:
        with pytest.raises(kv_router.InvalidInputError, match="key"):
            table.acquire(0.0, bad, 1)
    for ttl in [0.5, float("nan"), 31_536_001.0]:
        with pytest.raises(kv_router.InvalidInputError, match="ttl_secs"):
            SessionAffinity(AffinityConfig(ttl_secs=ttl))


def test_keys_name_what_shares_them() -> None:
    left = Session(session_id="left", play="p", root="r", parent="r")
    right = Session(session_id="right", play="p", root="r", parent="r")
    assert affinity_key("sibling_group", left) == affinity_key("sibling_group", right)
    assert affinity_key("session", left) != affinity_key("session", right)
    elsewhere = Session(session_id="left", play="q", root="r", parent="r")
    assert affinity_key("sibling_group", left) != affinity_key("sibling_group", elsewhere)
    with pytest.raises(kv_router.InvalidInputError, match="root"):
        affinity_key("sibling_group", Session(session_id="left"))
    with pytest.raises(kv_router.InvalidInputError, match="session_id"):
        affinity_key("session", Session(session_id=""))
