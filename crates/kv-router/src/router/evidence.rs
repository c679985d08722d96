//! What the router did, for whoever has to believe it.

use std::collections::VecDeque;

use serde::Serialize;

use crate::config::WorkerType;
use crate::types::{Decision, DpRank, RequestId, WorkerId};

/// One captured placement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvidenceRow {
    /// The placed request.
    pub request_id: RequestId,
    /// The host's own name of it.
    pub authored_request_id: Option<String>,
    /// Its session.
    pub session_id: Option<String>,
    /// Its affinity key.
    pub group_key: Option<String>,
    /// What the workers of the pool do.
    pub role: WorkerType,
    /// Whether an existing session binding chose the candidate.
    pub binding_reused: bool,
    /// The worker.
    pub worker_id: WorkerId,
    /// The rank.
    pub dp_rank: DpRank,
    /// Clock at the placement, ms.
    pub at_ms: f64,
    /// Consecutive prefix blocks that the candidate held.
    pub overlap_blocks: u32,
    /// The longest prefix that any candidate held, in blocks.
    pub best_available_overlap_blocks: u32,
}

/// Counters since the router began, and its latest placements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Always true: the policy ran in this crate.
    pub native_policy: bool,
    /// Source revision of the build.
    pub revision: &'static str,
    /// What the workers of the pool do.
    pub role: WorkerType,
    /// Cache events that were applied.
    pub physical_kv_events: u64,
    /// Placements.
    pub decision_count: u64,
    /// Dispatches that were compared with their placement and agreed.
    pub post_dispatch_checks: u64,
    /// Dispatches that failed.
    pub dispatch_aborts: u64,
    /// Placements that followed an existing session binding.
    pub affinity_hits: u64,
    /// The latest placements, oldest first.
    pub decisions: VecDeque<EvidenceRow>,
    /// Older placements that were dropped to keep within the limit.
    pub decisions_dropped: u64,
    #[serde(skip)]
    limit: usize,
}

/// Names of a placed request.
#[derive(Default)]
pub(super) struct Names {
    pub(super) authored_request_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) group_key: Option<String>,
}

impl Evidence {
    pub(super) fn new(role: WorkerType, limit: usize) -> Self {
        Self {
            native_policy: true,
            revision: crate::REVISION,
            role,
            physical_kv_events: 0,
            decision_count: 0,
            post_dispatch_checks: 0,
            dispatch_aborts: 0,
            affinity_hits: 0,
            decisions: VecDeque::new(),
            decisions_dropped: 0,
            limit,
        }
    }

    pub(super) fn record(&mut self, decision: &Decision, names: impl FnOnce() -> Names) {
        self.decision_count += 1;
        self.affinity_hits += u64::from(decision.binding_reused);
        if self.limit == 0 {
            self.decisions_dropped += 1;
            return;
        }
        if self.decisions.len() == self.limit {
            self.decisions.pop_front();
            self.decisions_dropped += 1;
        }
        let Names {
            authored_request_id,
            session_id,
            group_key,
        } = names();
        self.decisions.push_back(EvidenceRow {
            request_id: decision.request_id,
            authored_request_id,
            session_id,
            group_key,
            role: self.role,
            binding_reused: decision.binding_reused,
            worker_id: decision.candidate.worker_id,
            dp_rank: decision.candidate.dp_rank,
            at_ms: decision.at_ms,
            overlap_blocks: decision.overlap_blocks,
            best_available_overlap_blocks: decision.best_available_overlap_blocks,
        });
    }
}
