"""Every refusal names what was wrong and leaves the state alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import kv_router
from kv_router import OfflineRouter, Request, RouterConfig, RouterError, WorkerConfig

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def make() -> OfflineRouter:
    router = OfflineRouter(RouterConfig(), [WorkerConfig(worker_id=i) for i in range(2)])
    router.place(5.0, Request(1, 16, pinned=0))
    router.place(5.0, Request(2, 16, pinned=0))
    router.dispatch_committed(5.0, 2, 0, 0)
    return router


REFUSALS: list[tuple[str, str, type[Exception], Callable[[OfflineRouter], Any]]] = [
    ("clock_backwards", "now_ms", kv_router.InvalidInputError, lambda r: r.advance_clock(4.0)),
    ("clock_invalid", "now_ms", kv_router.InvalidInputError, lambda r: r.advance_clock(1e300)),
    ("invalid_value", "now_ms", ValueError, lambda r: r.advance_clock("soon")),  # type: ignore[arg-type]
    (
        "duplicate_request",
        "request_id",
        kv_router.StateError,
        lambda r: r.place(5.0, Request(1, 9)),
    ),
    ("invalid_value", "isl_tokens", ValueError, lambda r: r.place(5.0, Request(3, 0))),
    (
        "invalid_value",
        "sequence_hashes",
        kv_router.InvalidInputError,
        lambda r: r.place(5.0, Request(3, 15, [1])),
    ),
    (
        "invalid_value",
        "priority_jump",
        kv_router.InvalidInputError,
        lambda r: r.place(5.0, Request(3, 15, priority_jump=float("nan"))),
    ),
    (
        "no_endpoints",
        "pinned",
        kv_router.PlacementError,
        lambda r: r.place(5.0, Request(3, 16, pinned=9)),
    ),
    ("unknown_request", "request_id", kv_router.StateError, lambda r: r.cancel(5.0, 77)),
    ("wrong_state", "request_id", kv_router.StateError, lambda r: r.cancel(5.0, 2)),
    (
        "dispatch_mismatch",
        "at",
        kv_router.StateError,
        lambda r: r.dispatch_committed(5.0, 1, 1, 0),
    ),
    ("unknown_worker", "worker_id", kv_router.StateError, lambda r: r.worker_removed(5.0, 3)),
    (
        "duplicate_worker",
        "worker_id",
        kv_router.StateError,
        lambda r: r.worker_ready(5.0, WorkerConfig(worker_id=0)),
    ),
    (
        "unsupported",
        "router_track_output_blocks",
        kv_router.InvalidInputError,
        lambda r: r.add_output_block(5.0, 1),
    ),
]


@pytest.mark.parametrize(
    ("kind", "field", "cls", "call"), REFUSALS, ids=[f"{r[0]}-{r[1]}" for r in REFUSALS]
)
def test_refusals(
    kind: str, field: str, cls: type[Exception], call: Callable[[OfflineRouter], Any]
) -> None:
    router = make()
    before = router.state_digest()
    with pytest.raises(RouterError) as refusal:
        call(router)
    error = refusal.value
    assert (error.kind, error.field) == (kind, field)
    assert isinstance(error, cls)
    assert error.expected
    assert error.value in str(error)
    assert router.state_digest() == before
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.kind) == (type(error), str(error), kind)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", -1),
        ("seed", "x"),
        ("block_size", 0),
        ("worker_type", "router"),
        ("overlap_score_credit", -0.5),
        ("overlap_score_credit_decay", float("inf")),
        ("prefill_load_scale", None),
        ("shared_cache_multiplier", -1.0),
        ("router_temperature", float("nan")),
        ("use_kv_events", "yes"),
        ("router_approximate_cache_policy", "fifo"),
        ("router_ttl_secs", 0.0),
        ("router_predicted_ttl_secs", -1.0),
        ("router_queue_threshold", -1.0),
        ("router_queue_policy", "random"),
        ("router_prefill_load_model", 3),
        ("wspt_max_wait_ms", 0.0),
        ("evidence_limit", -1),
    ],
)
def test_every_parameter_is_checked_by_name(field: str, value: object) -> None:
    config = RouterConfig(**{field: value})  # type: ignore[arg-type]
    with pytest.raises(kv_router.InvalidInputError) as refusal:
        OfflineRouter(config)
    assert refusal.value.field == field
    OfflineRouter(RouterConfig())


def test_what_is_no_configuration_is_refused() -> None:
    with pytest.raises(kv_router.InvalidInputError, match="a RouterConfig"):
        OfflineRouter(3)  # type: ignore[arg-type]
    with pytest.raises(kv_router.InvalidInputError, match="a list"):
        OfflineRouter(RouterConfig(), 3)  # type: ignore[arg-type]
    with pytest.raises(kv_router.InvalidInputError, match="dp_size"):
        OfflineRouter(RouterConfig(), [WorkerConfig(worker_id=0, dp_size=0)])
