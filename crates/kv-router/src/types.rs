//! The names that every part of the router shares.

use serde::{Deserialize, Serialize};

/// Identifies a worker (one engine instance).
pub type WorkerId = u32;
/// Identifies a data-parallel rank inside a worker.
pub type DpRank = u32;
/// Identifies a request: the host's number, unique among live requests.
pub type RequestId = u64;

/// Where a request can run: always a (worker, dp rank) pair, never only a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The worker.
    pub worker_id: WorkerId,
    /// The data-parallel rank inside it.
    pub dp_rank: DpRank,
}

impl Candidate {
    /// The candidate of this worker and rank.
    pub const fn new(worker_id: WorkerId, dp_rank: DpRank) -> Self {
        Self { worker_id, dp_rank }
    }
}

impl std::fmt::Display for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "(worker {}, rank {})", self.worker_id, self.dp_rank)
    }
}

/// One placement: the request is booked on `candidate` from now on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The placed request.
    pub request_id: RequestId,
    /// Number of this booking: a later booking of the same request id has another one.
    pub attempt: u64,
    /// Where it runs.
    pub candidate: Candidate,
    /// Clock at the placement, ms.
    pub at_ms: f64,
    /// Consecutive prefix blocks that the candidate held.
    pub overlap_blocks: u32,
    /// The longest prefix that any candidate held, in blocks.
    pub best_available_overlap_blocks: u32,
    /// Prompt tokens that need no prefill on the candidate.
    pub cached_tokens: u32,
    /// Prompt length in blocks, rounded up.
    pub isl_blocks: u32,
    /// Whether the request waited before it was placed.
    pub queued: bool,
    /// Whether an existing session binding chose the candidate.
    pub binding_reused: bool,
}

/// What a call to `place` led to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// The placement of the request itself; `None` when it waits.
    pub decision: Option<Decision>,
    /// Other requests that the same call let go, in order.
    pub released: Vec<Decision>,
}

/// What a request wants. Only the first fields are needed; `..Default::default()` gives the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaceRequest<'a> {
    /// The host's number of the request, unique among live requests.
    pub request_id: RequestId,
    /// Prompt length, tokens; at least 1.
    pub isl_tokens: u32,
    /// Output length the host expects, tokens; nothing depends on it today.
    pub expected_output_tokens: Option<u32>,
    /// Chained hashes of the complete prompt blocks (see [`crate::sequence_hashes`]).
    pub sequence_hashes: &'a [u64],
    /// Seconds (FCFS, LCFS) or weight (WSPT) by which the request jumps ahead in its queue; finite.
    pub priority_jump: f64,
    /// Higher goes first, whatever the queue policy says.
    pub strict_priority: i32,
    /// Earliest due time goes first among equal strict priorities, ms.
    pub due_ms: Option<f64>,
    /// Policy family of the request, one of the configured ones.
    pub policy_class: Option<&'a str>,
    /// Who asks: needed when the router has session affinity.
    pub session: Option<SessionIdentity<'a>>,
    /// The host's own name of the request, for the evidence.
    pub authored_request_id: Option<&'a str>,
    /// The only worker (and rank) the request may run on.
    pub pinned: Option<Pin>,
    /// Taken when it is eligible; otherwise the request is scored as usual.
    pub preferred: Option<Candidate>,
    /// The workers the request may run on; `None` = all.
    pub allowed_workers: Option<&'a [WorkerId]>,
    /// Taints that a worker must carry.
    pub required_taints: &'a [&'a str],
    /// Taints that make a worker cheaper (weight > 0) or dearer (weight < 0).
    pub preferred_taints: &'a [(&'a str, f64)],
    /// Blocks of the prompt prefix that lower tiers hold, per candidate.
    pub lower_tiers: &'a [TierOverlap],
    /// Blocks of the prompt prefix that the shared cache holds.
    pub shared_cache_blocks: u32,
    /// Modelled prefill time on an idle worker, ms; used by the `ais` prefill load model.
    pub expected_prefill_ms: Option<f64>,
    /// Per-request values of router parameters.
    pub overrides: Overrides,
}

/// The only worker that a request may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The worker.
    pub worker_id: WorkerId,
    /// The rank; `None` = any rank of the worker.
    #[serde(default)]
    pub dp_rank: Option<DpRank>,
}

/// Prefix blocks that the host and disk tiers of a candidate hold beyond the device tier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierOverlap {
    /// Whose tiers.
    pub candidate: Candidate,
    /// Blocks in host memory.
    #[serde(default)]
    pub host_blocks: u32,
    /// Blocks on disk.
    #[serde(default)]
    pub disk_blocks: u32,
}

/// Values that replace router parameters for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// Replaces `overlap_score_credit`.
    pub overlap_score_credit: Option<f64>,
    /// Replaces `prefill_load_scale`.
    pub prefill_load_scale: Option<f64>,
    /// Replaces `router_temperature`.
    pub router_temperature: Option<f64>,
    /// Replaces `router_assume_kv_reuse`.
    pub router_assume_kv_reuse: Option<bool>,
    /// Replaces `router_track_prefill_tokens`.
    pub router_track_prefill_tokens: Option<bool>,
    /// Replaces `shared_cache_multiplier`.
    pub shared_cache_multiplier: Option<f64>,
}

/// Who asks: the session and its place in the conversation tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionIdentity<'a> {
    /// Namespace: equal names in two plays are different sessions.
    pub play: &'a str,
    /// The session (conversation) of the request.
    pub session_id: &'a str,
    /// Root conversation of the tree, when the host knows the lineage.
    pub root: Option<&'a str>,
    /// Parent conversation; `None` for the root itself.
    pub parent: Option<&'a str>,
}
