//! Policy classes of the queue.

use serde::{Deserialize, Serialize};

/// Order of waiters inside a class, at equal strict priority and due time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueuePolicy {
    /// First come first served: score `max(0, priority_jump) - arrival` (s), highest first.
    #[default]
    Fcfs,
    /// Last come first served: score `priority_jump + arrival` (s), highest first.
    Lcfs,
    /// Weighted shortest prefill first: score `(1 + priority_jump) / max(1, isl - cached)`
    /// (1/tokens), highest first, with ageing (see `wspt_max_wait_ms`).
    Wspt,
}

/// The policy classes: families of requests, cut by how many uncached tokens a request brings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyConfig {
    /// Family of requests that name none.
    pub default_family: String,
    /// The classes. Each family needs one with `cache_bucket` 0.
    pub classes: Vec<ClassConfig>,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassConfig {
    /// Unique name.
    pub name: String,
    /// The family it belongs to.
    pub policy_family: String,
    /// Least uncached prompt tokens of its requests; the largest bucket that fits takes a request.
    #[serde(default)]
    pub cache_bucket: u64,
    /// Order inside the class.
    #[serde(default)]
    pub queue_policy: QueuePolicy,
    /// Uncached tokens the class may serve per round of the deficit round robin; at least 1.
    #[serde(default = "default_quantum")]
    pub quantum: u64,
    /// Active prefill tokens above which a candidate is busy for the class.
    #[serde(default)]
    pub prefill_busy_threshold: Option<u64>,
    /// The same as a fraction of `max_num_batched_tokens`; without either of the two the router's
    /// `router_queue_threshold` holds.
    #[serde(default)]
    pub prefill_busy_threshold_frac: Option<f64>,
    /// Share of busy candidates from which on the pool is busy; `None` = all of them.
    #[serde(default)]
    pub busy_worker_ratio: Option<f64>,
    /// Most waiters, times the number of candidates.
    #[serde(default)]
    pub request_queue_limit_per_worker: Option<u64>,
    /// Most prompt tokens of waiters, times the number of candidates.
    #[serde(default)]
    pub raw_isl_token_queue_limit_per_worker: Option<u64>,
    /// Most cached prompt tokens of waiters, times the number of candidates.
    #[serde(default)]
    pub cached_token_queue_limit_per_worker: Option<u64>,
}

fn default_quantum() -> u64 {
    8192
}

impl ClassConfig {
    /// A class without limits that takes every request of `policy_family`.
    pub fn new(name: &str, policy_family: &str, queue_policy: QueuePolicy) -> Self {
        Self {
            name: name.to_owned(),
            policy_family: policy_family.to_owned(),
            cache_bucket: 0,
            queue_policy,
            quantum: default_quantum(),
            prefill_busy_threshold: None,
            prefill_busy_threshold_frac: None,
            busy_worker_ratio: None,
            request_queue_limit_per_worker: None,
            raw_isl_token_queue_limit_per_worker: None,
            cached_token_queue_limit_per_worker: None,
        }
    }
}
