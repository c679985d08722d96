"""The host protocol of the router, typed and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest

import kv_router
from kv_router import (
    AffinityConfig,
    ClassConfig,
    Cleared,
    OfflineRouter,
    PolicyConfig,
    Removed,
    Request,
    RouterConfig,
    Session,
    Stored,
    WorkerConfig,
)

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

LOCAL = [31, 32, 33, 34]
CHAIN = kv_router.sequence_hashes(LOCAL)
SETUP = json.dumps(
    {
        "config": {"router_queue_threshold": 0.0, "affinity": {"ttl_secs": 2.5}},
        "workers": [{"worker_id": 0, "dp_size": 2}, {"worker_id": 1}],
    }
)


def router(config: RouterConfig, count: int = 2, dp_size: int = 1) -> OfflineRouter:
    workers = [WorkerConfig(worker_id=i, dp_size=dp_size) for i in range(count)]
    return OfflineRouter(config, workers)


def ids(decisions: list[kv_router.Decision]) -> list[int]:
    return [decision.request_id for decision in decisions]


def test_a_whole_life_with_sessions_and_evidence() -> None:
    host = router(RouterConfig(affinity=AffinityConfig()), dp_size=2)
    session = Session(session_id="chat", play="p")
    host.observe(0.0, 1, 1, Stored(CHAIN, LOCAL))
    first = host.place(1.0, Request(1, 64, CHAIN, session=session, authored_request_id="a"))
    assert first.decision is not None
    assert (first.decision.worker_id, first.decision.dp_rank) == (1, 1)
    assert host.place(1.0, Request(2, 64, session=session)).decision is None
    released = host.dispatch_committed(2.0, 1, 1, 1)
    assert ids(released) == [2]
    assert released[0].binding_reused
    assert released[0].queued
    host.dispatch_aborted(2.0, 2)
    host.prefill_completed(3.0, 1)
    host.request_terminal(4.0, 1)
    host.observe(4.0, 1, 1, Removed(CHAIN[:1]))
    host.observe(4.0, 1, 1, Cleared())
    assert (host.index_blocks(), host.session_count(), host.pending_count()) == (0, 1, 0)
    assert host.index_counters().stored == 4
    evidence = host.evidence()
    assert evidence["revision"] == kv_router.__revision__
    counts = ("decision_count", "post_dispatch_checks", "dispatch_aborts", "affinity_hits")
    assert [evidence[name] for name in counts] == [2, 1, 1, 1]
    assert evidence["physical_kv_events"] == 3
    row = evidence["decisions"][0]
    assert (row["authored_request_id"], row["session_id"], row["role"]) == (
        "a",
        "chat",
        "aggregated",
    )
    assert row["group_key"] == kv_router.affinity_key("session", session)


def test_evidence_is_bounded() -> None:
    host = router(RouterConfig(evidence_limit=3))
    for request_id in range(10):
        host.place(0.0, Request(request_id, 16))
    evidence = host.evidence()
    assert [row["request_id"] for row in evidence["decisions"]] == [7, 8, 9]
    assert (evidence["decision_count"], evidence["decisions_dropped"]) == (10, 7)


def test_zero_workers_hold_and_workers_come_and_go() -> None:
    host = OfflineRouter(RouterConfig())
    for request_id in range(3):
        assert host.place(0.0, Request(request_id, 16)).decision is None
    assert (host.pending_count(), host.next_wakeup_ms()) == (3, None)
    assert ids(host.worker_ready(1.0, WorkerConfig(worker_id=5))) == [0, 1, 2]
    host.worker_draining(2.0, 5)
    assert host.place(2.0, Request(7, 16)).decision is None
    assert host.worker_removed(3.0, 5) == []
    assert ids(host.worker_ready(4.0, WorkerConfig(worker_id=5))) == [7]
    host.worker_fenced(5.0, 5)
    host.worker_overloaded(5.0, 5, True)
    assert host.topology_settled(5.0) == []
    assert host.advance_clock(6.0) == []
    assert [load.active_requests for load in host.loads()] == [1]


def test_classes_reach_the_queue() -> None:
    classes = [
        ClassConfig(name="small", policy_family="x", request_queue_limit_per_worker=1),
        ClassConfig(name="large", policy_family="x", cache_bucket=100),
    ]
    policy = PolicyConfig(default_family="x", classes=classes)
    host = router(RouterConfig(router_queue_threshold=0.0, router_policy_config=policy), 1)
    host.place(0.0, Request(1, 16))
    host.place(0.0, Request(2, 16))
    host.place(0.0, Request(3, 500))
    with pytest.raises(kv_router.CapacityError) as refusal:
        host.place(0.0, Request(4, 16))
    assert "small" in refusal.value.field
    assert ids(host.cancel(0.0, 2)) == []
    assert host.pending_count() == 1


def test_equal_seeds_give_equal_choices_and_ties_spread() -> None:
    def choices(seed: int) -> list[int]:
        host = router(RouterConfig(seed=seed), 4)
        chosen = []
        for request_id in range(400):
            decision = host.place(0.0, Request(request_id, 16)).decision
            assert decision is not None
            chosen.append(decision.worker_id)
            host.cancel(0.0, request_id)
        return chosen

    assert choices(1) == choices(1)
    assert choices(1) != choices(2)
    assert all(60 < count < 140 for count in Counter(choices(3)).values())


def test_json_commands_equal_typed_calls() -> None:
    spoken, typed = OfflineRouter.from_json(SETUP), OfflineRouter.from_json(SETUP)
    request: dict[str, object] = {"request_id": 1, "isl_tokens": 64, "block_hashes": LOCAL}
    request["session"] = {"session_id": "s"}
    pairs: list[tuple[dict[str, object], Callable[[], object]]] = [
        (
            {"command": "place", "now_ms": 1.0, "request": request},
            lambda: typed.place(
                1.0, Request(1, 64, block_hashes=LOCAL, session=Session(session_id="s"))
            ),
        ),
        (
            {"command": "dispatch_aborted", "now_ms": 2.0, "request_id": 1},
            lambda: typed.dispatch_aborted(2.0, 1),
        ),
        (
            {"command": "worker_removed", "now_ms": 3.0, "worker_id": 1},
            lambda: typed.worker_removed(3.0, 1),
        ),
    ]
    for command, call in pairs:
        answer = json.loads(spoken.command(json.dumps(command)))
        assert "error" not in answer
        call()
        assert spoken.state_digest() == typed.state_digest()
    answer = json.loads(spoken.command('{"command": "cancel", "now_ms": 3.0, "request_id": 1}'))
    assert answer["error"]["kind"] == "unknown_request"
    assert json.loads(spoken.command("nonsense"))["error"]["kind"] == "invalid_command"
    with pytest.raises(kv_router.InvalidInputError):
        OfflineRouter.from_json('{"config": {"typo": 1}}')


def test_both_languages_have_the_same_defaults() -> None:
    native = json.loads(OfflineRouter.from_json("{}").config_json())
    assert json.loads(OfflineRouter(RouterConfig()).config_json()) == native
    affinity = OfflineRouter(RouterConfig(affinity=AffinityConfig())).config_json()
    native = OfflineRouter.from_json('{"config": {"affinity": {}}}').config_json()
    assert json.loads(affinity) == json.loads(native)


def test_pool_roles() -> None:
    base = RouterConfig(overlap_score_credit=2.0)
    assert not base.for_prefill_pool().router_track_active_blocks
    decode = base.for_decode_pool()
    assert (decode.overlap_score_credit, decode.router_track_prefill_tokens) == (0.0, False)
    seeing = base.for_decode_pool_with_cache()
    assert (seeing.overlap_score_credit, seeing.router_assume_kv_reuse) == (2.0, True)
    chosen: Counter[int] = Counter()
    for seed in range(40):
        host = router(RouterConfig(seed=seed).for_decode_pool_with_cache())
        host.observe(0.0, 1, 0, Stored(CHAIN, LOCAL))
        decision = host.place(0.0, Request(1, 64, CHAIN)).decision
        assert decision is not None
        chosen[decision.worker_id] += 1
    assert chosen == {1: 40}


def test_all_request_options_are_understood() -> None:
    host = OfflineRouter(
        RouterConfig(shared_cache_type="hicache"),
        [WorkerConfig(worker_id=0), WorkerConfig(worker_id=1, dp_size=2, taints=("eu",))],
    )
    request = Request(
        1,
        64,
        CHAIN,
        expected_output_tokens=5,
        priority_jump=1.0,
        strict_priority=2,
        due_ms=50.0,
        policy_class="default",
        pinned=(1, 1),
        preferred=(1, 1),
        allowed_workers=[0, 1],
        required_taints=["eu"],
        preferred_taints={"eu": 1.0},
        lower_tiers={(1, 1): (1, 2)},
        shared_cache_blocks=3,
        expected_prefill_ms=4.0,
        overrides=kv_router.Overrides(router_temperature=0.5),
    )
    assert (request.request_id, request.isl_tokens) == (1, 64)
    decision = host.place(0.0, request).decision
    assert decision is not None
    assert (decision.worker_id, decision.dp_rank, decision.cached_tokens) == (1, 1, 20)
    assert repr(decision) == (
        "Decision(request_id=1, attempt=1, worker_id=1, dp_rank=1, at_ms=0.0, overlap_blocks=0, "
        "best_available_overlap_blocks=0, cached_tokens=20, isl_blocks=4, queued=False, "
        "binding_reused=False)"
    )
    assert repr(host.place(0.0, Request(2, 64))).startswith("Placed(decision=Decision(")


def test_without_events_routes_are_remembered() -> None:
    host = OfflineRouter(
        RouterConfig(use_kv_events=False, router_ttl_secs=1.0), [WorkerConfig(worker_id=0)]
    )
    overlaps = []
    for request_id, now_ms in enumerate([0.0, 500.0, 5000.0]):
        decision = host.place(now_ms, Request(request_id, 64, CHAIN)).decision
        assert decision is not None
        overlaps.append(decision.overlap_blocks)
    assert overlaps == [0, 4, 0]
    with pytest.raises(kv_router.InvalidInputError, match="use_kv_events"):
        host.observe(5000.0, 0, 0, Cleared())


def test_a_deprecated_parameter_warns_and_a_key_stays_secret() -> None:
    with pytest.warns(DeprecationWarning, match="prefill_load_scale"):
        config = RouterConfig(overlap_score_weight=0.0)
    native = json.loads(router(config).config_json())
    assert (native["prefill_load_scale"], native["overlap_score_credit"]) == (0.0, 0.0)
    for key, refused in [(b"k" * 32, False), (b"k" * 31, True), (None, True)]:
        config = RouterConfig(
            router_tracking_hash="keyed-xxh3-v1",
            router_tracking_key=key,
            router_tracking_key_id="spring",
        )
        assert "kkk" not in repr(config)
        if refused:
            with pytest.raises(kv_router.InvalidInputError, match="router_tracking_key") as error:
                router(config)
            assert "kkk" not in str(error.value)
        else:
            assert "spring" in router(config).config_json()


def test_little_uncached_prompt_may_bypass_the_prefill_pool() -> None:
    on = router(RouterConfig(conditional_disagg_enabled=True).for_decode_pool())
    assert [on.bypasses_prefill_pool(1000, cached) for cached in (300, 301)] == [False, True]
    assert not router(RouterConfig()).bypasses_prefill_pool(1000, 301)
