//! Configuration of a router and of its workers.

mod classes;
mod roles;
mod tracking;
mod validate;

use serde::{Deserialize, Serialize};

use crate::types::{DpRank, WorkerId};
pub use classes::{ClassConfig, PolicyConfig, QueuePolicy};
pub use roles::ConditionalDisaggPolicy;
pub use tracking::{TrackingHash, TrackingKey};
pub(crate) use validate::{non_negative, validate_finite, validate_max_entries, validate_ttl};

/// `max_num_batched_tokens` of a worker that does not publish one.
pub const DEFAULT_MAX_NUM_BATCHED_TOKENS: u64 = 10_000_000;

/// Every parameter of the router, with its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouterConfig {
    /// Seed of every random draw. Default 0.
    pub seed: u64,
    /// Tokens a block; at least 1. Default 16.
    pub block_size: u32,
    /// What the workers do. Default aggregated.
    pub worker_type: WorkerType,
    /// Blocks credited per block of device overlap; finite, >= 0. Default 1.
    pub overlap_score_credit: f64,
    /// How fast the credit fades on candidates with more prefill load; finite, >= 0. Default 0.
    pub overlap_score_credit_decay: f64,
    /// Weight of the prefill term; finite, >= 0. Default 1.
    pub prefill_load_scale: f64,
    /// Deprecated name of `prefill_load_scale`, which stays 1 beside it; 0 also sets
    /// `overlap_score_credit` to 0. Default none.
    #[serde(skip_serializing)]
    pub overlap_score_weight: Option<f64>,
    /// Blocks charged per active request; finite, >= 0. Default 0.
    pub decode_active_request_weight: f64,
    /// Credit of a block in host memory; finite, >= 0. Default 0.75.
    pub host_cache_hit_weight: f64,
    /// Credit of a block on disk; finite, >= 0. Default 0.25.
    pub disk_cache_hit_weight: f64,
    /// Credit of a block of the shared cache beyond the device overlap. Default: none without a
    /// shared cache, 0.5 with one.
    pub shared_cache_multiplier: Option<f64>,
    /// Which shared cache there is. Default none.
    pub shared_cache_type: SharedCacheType,
    /// 0 takes the cheapest candidate; above 0 draws from a softmax. Finite, >= 0. Default 0.
    pub router_temperature: f64,
    /// Whether overlap follows cache events. Without them a candidate is taken to have what was
    /// routed to it (see `router_approximate_cache_policy`). Default true.
    pub use_kv_events: bool,
    /// Threads that apply cache events. 1, the default, is the only value: the host's own thread
    /// applies each event in its call, so that equal calls give equal answers.
    pub router_event_threads: u32,
    /// How routes are forgotten without cache events. Default ttl.
    pub router_approximate_cache_policy: ApproximateCachePolicy,
    /// How long a route is remembered without cache events, s; > 0. Default 120.
    pub router_ttl_secs: f64,
    /// With cache events: how long a candidate is also taken to have what was routed to it, until
    /// its events say so, s; > 0. Default none: not at all.
    pub router_predicted_ttl_secs: Option<f64>,
    /// Whether active blocks are tracked; without them the decode term is 0. Default true.
    pub router_track_active_blocks: bool,
    /// How active blocks are named. Default public.
    pub router_tracking_hash: TrackingHash,
    /// The key of keyed names. Default none.
    #[serde(skip_serializing)]
    pub router_tracking_key: Option<TrackingKey>,
    /// Which key that is; it shows where the key does not. Default none.
    pub router_tracking_key_id: Option<String>,
    /// Whether output blocks are tracked. Default false.
    pub router_track_output_blocks: bool,
    /// Whether equal prompt blocks of active requests count once. Default true.
    pub router_assume_kv_reuse: bool,
    /// Whether prompt load is tracked. Default true.
    pub router_track_prefill_tokens: bool,
    /// Whether active prefill load fades with time. Default none.
    pub router_prefill_load_model: PrefillLoadModel,
    /// Fraction of `max_num_batched_tokens` above which a candidate is busy; finite, >= 0. Any
    /// number, 0 too, turns queueing on; `None` (the default) turns it off.
    pub router_queue_threshold: Option<f64>,
    /// Order of the queue when there are no policy classes. Default FCFS.
    pub router_queue_policy: QueuePolicy,
    /// Policy classes. Default: one class for all requests.
    pub router_policy_config: Option<PolicyConfig>,
    /// A WSPT waiter that waited this long goes ahead of all younger ones of its strict priority,
    /// ms; > 0. Default 30,000.
    pub wspt_max_wait_ms: f64,
    /// Whether requests may bypass the prefill pool (see [`RouterConfig::bypasses_prefill_pool`]).
    /// Default false.
    pub conditional_disagg_enabled: bool,
    /// By which rule. Default ISL bounding.
    pub conditional_disagg_policy: ConditionalDisaggPolicy,
    /// Uncached prompt tokens below which a request may bypass. Default 2,048.
    pub conditional_disagg_eff_isl_threshold: u64,
    /// Share of uncached prompt tokens below which it may; finite, >= 0. Default 0.7.
    pub conditional_disagg_eff_isl_ratio_threshold: f64,
    /// Session affinity. Default none.
    pub affinity: Option<AffinityConfig>,
    /// Decisions kept for the evidence, the latest ones. Default 4,096.
    pub evidence_limit: usize,
}

impl Default for RouterConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            block_size: 16,
            worker_type: WorkerType::Aggregated,
            overlap_score_credit: 1.0,
            overlap_score_credit_decay: 0.0,
            prefill_load_scale: 1.0,
            overlap_score_weight: None,
            decode_active_request_weight: 0.0,
            host_cache_hit_weight: 0.75,
            disk_cache_hit_weight: 0.25,
            shared_cache_multiplier: None,
            shared_cache_type: SharedCacheType::None,
            router_temperature: 0.0,
            use_kv_events: true,
            router_event_threads: 1,
            router_approximate_cache_policy: ApproximateCachePolicy::Ttl,
            router_ttl_secs: 120.0,
            router_predicted_ttl_secs: None,
            router_track_active_blocks: true,
            router_tracking_hash: TrackingHash::PublicXxh3V1,
            router_tracking_key: None,
            router_tracking_key_id: None,
            router_track_output_blocks: false,
            router_assume_kv_reuse: true,
            router_track_prefill_tokens: true,
            router_prefill_load_model: PrefillLoadModel::None,
            router_queue_threshold: None,
            router_queue_policy: QueuePolicy::Fcfs,
            router_policy_config: None,
            wspt_max_wait_ms: 30_000.0,
            conditional_disagg_enabled: false,
            conditional_disagg_policy: ConditionalDisaggPolicy::IslBounding,
            conditional_disagg_eff_isl_threshold: 2048,
            conditional_disagg_eff_isl_ratio_threshold: 0.7,
            affinity: None,
            evidence_limit: 4096,
        }
    }
}

impl RouterConfig {
    /// Until when a route is remembered, and how many blocks of them; `None`: not at all.
    pub(crate) fn remembers_routes(
        &self,
        now_ms: f64,
        total_kv_blocks: Option<u64>,
    ) -> Option<(f64, Option<u64>)> {
        if self.use_kv_events {
            return self
                .router_predicted_ttl_secs
                .map(|secs| (now_ms + secs * 1000.0, None));
        }
        Some(match self.router_approximate_cache_policy {
            ApproximateCachePolicy::Ttl => (now_ms + self.router_ttl_secs * 1000.0, None),
            ApproximateCachePolicy::Lru => (f64::INFINITY, total_kv_blocks),
        })
    }

    /// The configuration with deprecated names replaced.
    pub(crate) fn resolved(mut self) -> Self {
        if let Some(weight) = self.overlap_score_weight.take() {
            self.prefill_load_scale = weight;
            if weight == 0.0 {
                self.overlap_score_credit = 0.0;
            }
        }
        self
    }

    /// The modelled duration of a prefill that the load model works with.
    pub(crate) fn modelled_prefill(&self, expected_ms: Option<f64>) -> Option<f64> {
        expected_ms.filter(|_| self.router_prefill_load_model == PrefillLoadModel::Ais)
    }
}

/// What the workers of a pool do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerType {
    /// Prefill and decode.
    #[default]
    Aggregated,
    /// Prefill only.
    Prefill,
    /// Decode only.
    Decode,
}

/// How routes are forgotten without cache events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApproximateCachePolicy {
    /// After `router_ttl_secs`.
    #[default]
    Ttl,
    /// The least recently routed prompts beyond a worker's `total_kv_blocks`, which must be known.
    Lru,
}

/// Which cache all workers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedCacheType {
    /// None.
    #[default]
    None,
    /// A hierarchical cache; the host says per request how much of the prompt it holds.
    Hicache,
}

/// How the load of an active prefill fades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefillLoadModel {
    /// It counts in full until the prefill completes.
    #[default]
    None,
    /// It fades linearly over the request's `expected_prefill_ms`.
    Ais,
}

/// Session affinity of a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AffinityConfig {
    /// Which requests share a key. Default session.
    pub mode: AffinityMode,
    /// Idle time after which a binding is forgotten, s; 1 to 31,536,000. Default 3,600.
    pub ttl_secs: f64,
    /// Whether a binding may move to another worker by dispatch. Default hard: it may not.
    pub binding: BindingMode,
    /// Most keys at a time; 1 to 65,536. Default 65,536.
    pub max_entries: usize,
}

impl Default for AffinityConfig {
    fn default() -> Self {
        Self {
            mode: AffinityMode::Session,
            ttl_secs: 3600.0,
            binding: BindingMode::Hard,
            max_entries: 65_536,
        }
    }
}

/// Which requests share an affinity key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AffinityMode {
    /// Requests of one session.
    #[default]
    Session,
    /// Requests of all children of one parent; a root shares with nobody.
    SiblingGroup,
}

/// Whether a binding may move by dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingMode {
    /// A dispatch elsewhere is an error and ends the binding.
    #[default]
    Hard,
    /// A dispatch elsewhere moves the binding.
    Soft,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// Its id.
    pub worker_id: WorkerId,
    /// Number of data-parallel ranks; at least 1. Default 1.
    #[serde(default = "one")]
    pub dp_size: u32,
    /// First rank. Default 0.
    #[serde(default)]
    pub dp_start: DpRank,
    /// KV blocks a rank holds, if known; at least 1. Bounds the `lru` approximation.
    #[serde(default)]
    pub total_kv_blocks: Option<u64>,
    /// Token budget of one forward pass, if known; at least 1. Default: 10,000,000.
    #[serde(default)]
    pub max_num_batched_tokens: Option<u64>,
    /// Labels that requests can require or prefer.
    #[serde(default)]
    pub taints: Vec<String>,
}

fn one() -> u32 {
    1
}

impl WorkerConfig {
    /// A worker with `dp_size` ranks from 0 and nothing else known about it.
    pub fn new(worker_id: WorkerId, dp_size: u32) -> Self {
        Self {
            worker_id,
            dp_size,
            dp_start: 0,
            total_kv_blocks: None,
            max_num_batched_tokens: None,
            taints: Vec::new(),
        }
    }
}
