//! Settings of the two pools of a disaggregated deployment.

use super::{PrefillLoadModel, RouterConfig, WorkerType};

impl RouterConfig {
    /// This configuration for a prefill pool: only prompt work counts, active blocks do not.
    pub fn for_prefill_pool(&self) -> Self {
        Self {
            worker_type: WorkerType::Prefill,
            router_track_active_blocks: false,
            ..self.clone()
        }
    }

    /// This configuration for a decode pool that is blind to cache: placement follows load only.
    pub fn for_decode_pool(&self) -> Self {
        Self {
            worker_type: WorkerType::Decode,
            overlap_score_credit: 0.0,
            router_assume_kv_reuse: false,
            router_track_prefill_tokens: false,
            router_prefill_load_model: PrefillLoadModel::None,
            ..self.clone()
        }
    }

    /// This configuration for a decode pool that sees cache: overlap is credited against the
    /// decode blocks, and blocks that active requests share count once.
    pub fn for_decode_pool_with_cache(&self) -> Self {
        Self {
            overlap_score_credit: self.overlap_score_credit,
            router_assume_kv_reuse: true,
            ..self.for_decode_pool()
        }
    }
}
