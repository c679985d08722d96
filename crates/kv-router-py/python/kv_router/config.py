"""Configuration objects. Values are checked where they are used: by the router's constructor."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class AffinityConfig:
    """Session affinity.

    Attributes:
        mode: ``session``: requests of one session share a binding; ``sibling_group``: those of
            all children of one parent do.
        ttl_secs: Idle time after which a binding is forgotten, s; 1 to 31,536,000.
        binding: ``hard``: a dispatch elsewhere is an error and ends the binding; ``soft``: it
            moves the binding.
        max_entries: Most keys at a time; 1 to 65,536.
    """

    mode: Literal["session", "sibling_group"] = "session"
    ttl_secs: float = 3600.0
    binding: Literal["hard", "soft"] = "hard"
    max_entries: int = 65_536


@dataclass(frozen=True, kw_only=True)
class ClassConfig:
    """One policy class: requests of a family with at least so many uncached tokens.

    Attributes:
        name: Unique name.
        policy_family: The family it belongs to.
        cache_bucket: Least uncached prompt tokens; the largest bucket that fits takes a request.
        queue_policy: Order inside the class.
        quantum: Uncached tokens it may serve per round of the deficit round robin; >= 1.
        prefill_busy_threshold: Active prefill tokens above which a candidate is busy.
        prefill_busy_threshold_frac: The same as a fraction of ``max_num_batched_tokens``. Without
            either the router's ``router_queue_threshold`` holds.
        busy_worker_ratio: Share of busy candidates from which on the pool is busy, in (0, 1];
            None: all of them.
        request_queue_limit_per_worker: Most waiters, times the number of candidates.
        raw_isl_token_queue_limit_per_worker: Most prompt tokens of waiters, likewise.
        cached_token_queue_limit_per_worker: Most cached prompt tokens of waiters, likewise.
    """

    name: str
    policy_family: str
    cache_bucket: int = 0
    queue_policy: Literal["fcfs", "lcfs", "wspt"] = "fcfs"
    quantum: int = 8192
    prefill_busy_threshold: int | None = None
    prefill_busy_threshold_frac: float | None = None
    busy_worker_ratio: float | None = None
    request_queue_limit_per_worker: int | None = None
    raw_isl_token_queue_limit_per_worker: int | None = None
    cached_token_queue_limit_per_worker: int | None = None


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """The policy classes.

    Attributes:
        default_family: Family of requests that name none.
        classes: The classes; each family needs one with ``cache_bucket`` 0.
    """

    default_family: str
    classes: Sequence[ClassConfig]


@dataclass(frozen=True, kw_only=True)
class RouterConfig:
    """Every parameter of a router. Weights and thresholds are finite and >= 0.

    Attributes:
        seed: Seed of every random draw.
        block_size: Tokens a block; >= 1.
        worker_type: What the workers do.
        overlap_score_credit: Blocks credited per block of device overlap.
        overlap_score_credit_decay: How fast the credit fades on candidates with more prefill load.
        prefill_load_scale: Weight of the prefill term of the cost.
        overlap_score_weight: Deprecated name of ``prefill_load_scale``, refused beside one other
            than 1; 0 also sets ``overlap_score_credit`` to 0.
        decode_active_request_weight: Blocks charged per active request.
        host_cache_hit_weight: Credit of a block in host memory.
        disk_cache_hit_weight: Credit of a block on disk.
        shared_cache_multiplier: Credit of a block of the shared cache beyond the device overlap;
            None: 0.5 with a shared cache.
        shared_cache_type: Which shared cache there is.
        router_temperature: 0 takes the cheapest candidate, above it draws from a softmax.
        use_kv_events: Whether overlap follows cache events; without them a candidate is taken to
            have what was routed to it.
        router_event_threads: Threads that apply cache events: 1, the host's own.
        router_approximate_cache_policy: How routes are forgotten without cache events: ``ttl``
            after ``router_ttl_secs``, ``lru`` beyond a worker's ``total_kv_blocks``.
        router_ttl_secs: How long a route is remembered without cache events, s; > 0.
        router_predicted_ttl_secs: With cache events: how long a candidate is also taken to have
            what was routed to it, s; > 0; None: not at all.
        router_track_active_blocks: Whether active blocks are tracked.
        router_tracking_hash: How the load names active blocks; no placement depends on it.
        router_tracking_key: The key of ``keyed-xxh3-v1``, 32 bytes; never shown.
        router_tracking_key_id: Which key that is.
        router_track_output_blocks: Whether output blocks are tracked.
        router_assume_kv_reuse: Whether equal prompt blocks of active requests count once.
        router_track_prefill_tokens: Whether prompt load is tracked.
        router_prefill_load_model: ``ais``: the load of an active prefill fades over its
            ``expected_prefill_ms``.
        router_queue_threshold: Fraction of ``max_num_batched_tokens`` above which a candidate is
            busy; any number turns queueing on.
        router_queue_policy: Order of the queue without policy classes.
        router_policy_config: Policy classes.
        wspt_max_wait_ms: A WSPT waiter that waited this long goes ahead of all younger ones of
            its strict priority, ms; > 0.
        conditional_disagg_enabled: Whether requests may bypass the prefill pool.
        conditional_disagg_policy: By which rule.
        conditional_disagg_eff_isl_threshold: Uncached tokens below which a request may bypass it.
        conditional_disagg_eff_isl_ratio_threshold: Uncached share of the prompt below which it may.
        affinity: Session affinity; None: none.
        evidence_limit: Latest decisions kept for the evidence.
    """

    seed: int = 0
    block_size: int = 16
    worker_type: Literal["aggregated", "prefill", "decode"] = "aggregated"
    overlap_score_credit: float = 1.0
    overlap_score_credit_decay: float = 0.0
    prefill_load_scale: float = 1.0
    overlap_score_weight: float | None = None
    decode_active_request_weight: float = 0.0
    host_cache_hit_weight: float = 0.75
    disk_cache_hit_weight: float = 0.25
    shared_cache_multiplier: float | None = None
    shared_cache_type: Literal["none", "hicache"] = "none"
    router_temperature: float = 0.0
    use_kv_events: bool = True
    router_event_threads: int = 1
    router_approximate_cache_policy: Literal["ttl", "lru"] = "ttl"
    router_ttl_secs: float = 120.0
    router_predicted_ttl_secs: float | None = None
    router_track_active_blocks: bool = True
    router_tracking_hash: Literal["public-xxh3-v1", "keyed-xxh3-v1"] = "public-xxh3-v1"
    router_tracking_key: bytes | None = field(default=None, repr=False)
    router_tracking_key_id: str | None = None
    router_track_output_blocks: bool = False
    router_assume_kv_reuse: bool = True
    router_track_prefill_tokens: bool = True
    router_prefill_load_model: Literal["none", "ais"] = "none"
    router_queue_threshold: float | None = None
    router_queue_policy: Literal["fcfs", "lcfs", "wspt"] = "fcfs"
    router_policy_config: PolicyConfig | None = None
    wspt_max_wait_ms: float = 30_000.0
    conditional_disagg_enabled: bool = False
    conditional_disagg_policy: Literal["isl_bounding"] = "isl_bounding"
    conditional_disagg_eff_isl_threshold: int = 2048
    conditional_disagg_eff_isl_ratio_threshold: float = 0.7
    affinity: AffinityConfig | None = None
    evidence_limit: int = 4096

    def __post_init__(self) -> None:
        """Warn about a deprecated name."""
        if self.overlap_score_weight is not None:
            text = "overlap_score_weight is deprecated: use prefill_load_scale"
            warnings.warn(text, DeprecationWarning, stacklevel=3)

    def for_prefill_pool(self) -> RouterConfig:
        """This configuration for a prefill pool: only prompt work counts."""
        return replace(self, worker_type="prefill", router_track_active_blocks=False)

    def for_decode_pool(self) -> RouterConfig:
        """This configuration for a decode pool that is blind to cache."""
        return replace(
            self,
            worker_type="decode",
            overlap_score_credit=0.0,
            router_assume_kv_reuse=False,
            router_track_prefill_tokens=False,
            router_prefill_load_model="none",
        )

    def for_decode_pool_with_cache(self) -> RouterConfig:
        """This configuration for a decode pool that credits cached blocks."""
        return replace(
            self.for_decode_pool(),
            overlap_score_credit=self.overlap_score_credit,
            router_assume_kv_reuse=True,
        )


@dataclass(frozen=True, kw_only=True)
class WorkerConfig:
    """One worker.

    Attributes:
        worker_id: Its id.
        dp_size: Number of data-parallel ranks; >= 1.
        dp_start: First rank.
        total_kv_blocks: KV blocks a rank holds, if known; bounds the ``lru`` approximation.
        max_num_batched_tokens: Token budget of one forward pass; None: 10,000,000.
        taints: Labels that requests can require or prefer.
    """

    worker_id: int
    dp_size: int = 1
    dp_start: int = 0
    total_kv_blocks: int | None = None
    max_num_batched_tokens: int | None = None
    taints: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Session:
    """Who asks: the session and its place in the conversation tree.

    Attributes:
        session_id: The session (conversation) of the request.
        play: Namespace: equal names in two plays are different sessions.
        root: Root conversation of the tree, when the lineage is known.
        parent: Parent conversation; None for the root itself.
    """

    session_id: str
    play: str = ""
    root: str | None = None
    parent: str | None = None


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Values that replace the router's parameters of the same name for one request."""

    overlap_score_credit: float | None = None
    prefill_load_scale: float | None = None
    router_temperature: float | None = None
    router_assume_kv_reuse: bool | None = None
    router_track_prefill_tokens: bool | None = None
    shared_cache_multiplier: float | None = None
