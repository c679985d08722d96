"""The shapes of what a replay returns.

Times are simulated milliseconds, lengths are tokens. A statistic of nothing is None.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class _Counts(TypedDict):
    #: Requests that arrived.
    num_requests: int
    completed_requests: int
    #: Requests that could never fit on a worker.
    rejected_requests: int
    #: Requests that a time limit cut off.
    unfinished_requests: int
    #: Tokens of completed requests.
    total_input_tokens: int
    total_output_tokens: int
    processed_tokens: int
    #: Prompt tokens that passes computed, recomputation included.
    committed_prefill_tokens: int
    preemptions: int
    forward_passes: int
    #: Those whose time lies outside of the measured points of a timing table.
    extrapolated_passes: int
    num_ttft_samples: int
    num_tpot_samples: int
    num_e2e_latency_samples: int


class _Rates(TypedDict):
    #: From time 0 to the end of the last completed request, or to the time limit.
    duration_ms: float
    request_throughput_rps: float
    input_throughput_tok_s: float
    output_throughput_tok_s: float
    total_throughput_tok_s: float


class _Resources(TypedDict):
    prefill_worker_seconds: float
    decode_worker_seconds: float
    prefill_gpus_per_worker: int
    decode_gpus_per_worker: int
    gpu_hours: float
    power_w: float | None
    power_coverage: float | None
    #: Prompt tokens found in the cache over prompt tokens: largest over a request's admissions.
    prefix_cache_reused_ratio: float | None
    #: The same at the first admission, which preemption cannot inflate.
    first_admission_prefix_cache_reused_ratio: float | None
    kv_eviction_policy: str


class _Ttft(TypedDict):
    #: Time to the first token.
    mean_ttft_ms: float | None
    min_ttft_ms: float | None
    max_ttft_ms: float | None
    median_ttft_ms: float | None
    p75_ttft_ms: float | None
    p90_ttft_ms: float | None
    p95_ttft_ms: float | None
    p99_ttft_ms: float | None
    std_ttft_ms: float | None


class _Ttst(TypedDict):
    #: Time from the first to the second token.
    mean_ttst_ms: float | None
    min_ttst_ms: float | None
    max_ttst_ms: float | None
    median_ttst_ms: float | None
    p75_ttst_ms: float | None
    p90_ttst_ms: float | None
    p95_ttst_ms: float | None
    p99_ttst_ms: float | None
    std_ttst_ms: float | None


class _Tpot(TypedDict):
    #: Mean time between the tokens of a request (inter-token latency per request).
    mean_tpot_ms: float | None
    min_tpot_ms: float | None
    max_tpot_ms: float | None
    median_tpot_ms: float | None
    p75_tpot_ms: float | None
    p90_tpot_ms: float | None
    p95_tpot_ms: float | None
    p99_tpot_ms: float | None
    std_tpot_ms: float | None


class _Itl(TypedDict):
    #: Time between two tokens, pooled over all gaps of all requests.
    mean_itl_ms: float | None
    min_itl_ms: float | None
    max_itl_ms: float | None
    median_itl_ms: float | None
    p75_itl_ms: float | None
    p90_itl_ms: float | None
    p95_itl_ms: float | None
    p99_itl_ms: float | None
    std_itl_ms: float | None


class _EndToEnd(TypedDict):
    #: Arrival to last token.
    mean_e2e_latency_ms: float | None
    min_e2e_latency_ms: float | None
    max_e2e_latency_ms: float | None
    median_e2e_latency_ms: float | None
    p75_e2e_latency_ms: float | None
    p90_e2e_latency_ms: float | None
    p95_e2e_latency_ms: float | None
    p99_e2e_latency_ms: float | None
    std_e2e_latency_ms: float | None


class _UserRate(TypedDict):
    #: 1000 / gap over all positive gaps, tokens/s.
    mean_output_token_throughput_per_user: float | None
    min_output_token_throughput_per_user: float | None
    max_output_token_throughput_per_user: float | None
    median_output_token_throughput_per_user: float | None
    p75_output_token_throughput_per_user: float | None
    p90_output_token_throughput_per_user: float | None
    p95_output_token_throughput_per_user: float | None
    p99_output_token_throughput_per_user: float | None
    std_output_token_throughput_per_user: float | None


class _Goodput(TypedDict, total=False):
    #: Only with an SLA.
    goodput_completed_requests: int
    goodput_request_throughput_rps: float
    goodput_output_throughput_tok_s: float


class Summary(
    _Counts, _Rates, _Resources, _Ttft, _Ttst, _Tpot, _Itl, _EndToEnd, _UserRate, _Goodput
):
    """The figures of a replay."""


class Tool(TypedDict):
    """The program that made a report."""

    name: str
    version: str
    source_revision: str


class TraceWarning(TypedDict):
    """Something odd in a trace that stopped nothing; the place is that of the first case."""

    code: str
    count: int
    #: The trace file, counted from 0.
    file: int
    line: int
    message: str


class TraceInfo(TypedDict):
    """What was replayed."""

    #: Of the bytes of each file.
    sha256: list[str]
    requests: int
    named_sessions: int
    distinct_blocks: int
    warnings: list[TraceWarning]


class Report(TypedDict):
    """The report document. It holds neither host time nor paths."""

    schema: Literal["replay-sim/report/v1"]
    tool: Tool
    #: The settings, every default explicit; a configuration file of the same content repeats it.
    configuration: dict[str, Any]
    trace: TraceInfo
    summary: Summary


class Routing(TypedDict):
    """How a request found its worker. Overlap fields are None where the router sees no caches."""

    pool: Literal["agg"]
    outcome: Literal["immediate", "queued"]
    queue_entered_at_ms: float | None
    released_at_ms: float | None
    queue_wait_ms: float
    logical_worker_id: int
    scheduler_id: int
    dp_rank: int
    reported_overlap_tokens: int
    selected_overlap_blocks: int | None
    best_available_overlap_blocks: int | None
    overlap_regret_blocks: int | None
    placement_replica_id: int | None


class Admission(TypedDict):
    """One admission of a request to the running batch of its worker."""

    admission_ordinal: int
    pool_admission_ordinal: int
    pool: Literal["agg"]
    at_ms: float
    reused_input_tokens: int
    is_readmission: bool


class RequestRow(TypedDict):
    """What happened to one request. Fields of separate prefill and decode pools are None."""

    request_id: str
    session_id: str | None
    turn_index: int | None
    arrival_time_ms: float
    dispatched_at_ms: float | None
    first_admit_ms: float | None
    terminal_time_ms: float
    first_token_ms: float | None
    last_token_ms: float | None
    prefill_admit_ms: float | None
    source_held_ms: float | None
    destination_reserved_ms: float | None
    destination_activated_ms: float | None
    decode_admit_ms: float | None
    source_released_ms: float | None
    ttft_ms: float | None
    ttst_ms: float | None
    e2e_latency_ms: float | None
    itl_ms: float | None
    input_length: int
    requested_output_length: int
    output_length: int
    reused_input_tokens: int
    decode_reused_input_tokens: int | None
    first_admission_g1_reused_input_tokens: int | None
    prefill_route_overlap_tokens: int | None
    decode_route_overlap_tokens: int | None
    prefill_worker_idx: int | None
    decode_worker_idx: int
    terminal_status: Literal["completed", "rejected"]
    rejection_reason: Literal["larger_than_cache", "context_limit", "larger_than_pass"] | None
    routing_history: list[Routing]
    admission_history: list[Admission]
    admission_count: int
    readmission_count: int


class Statistics(TypedDict):
    """Exact statistics of a set of values."""

    count: int
    mean: float
    min: float
    max: float
    median: float
    p75: float
    p90: float
    p95: float
    p99: float
    std: float


class Inspection(TypedDict):
    """What a trace holds."""

    requests: int
    #: A request without a session is a session of its own.
    sessions: int
    #: Of the longest session.
    most_turns: int
    #: From the first arrival to the last first turn, ms.
    span_ms: float
    input_tokens: int
    output_tokens: int
    input_length: Statistics
    output_length: Statistics
    #: Think times before later turns, ms; None without later turns.
    delay_ms: Statistics | None
    #: Different trace blocks.
    distinct_blocks: int
    #: Prompt tokens that one worker with an infinite cache finds in it, over all prompt tokens.
    best_prefix_reuse: float
