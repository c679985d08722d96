//! Settings of the two pools of a disaggregated deployment, and which requests need only one.

use serde::{Deserialize, Serialize};

use super::{PrefillLoadModel, RouterConfig, WorkerType};

/// Rules by which a request may bypass the prefill pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionalDisaggPolicy {
    /// When little of the prompt is left to compute: fewer tokens than the threshold, and a
    /// smaller share of the prompt than the ratio.
    #[default]
    IslBounding,
}

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

    /// Whether a request may bypass the prefill pool: its decode worker, which holds
    /// `cached_tokens` of its `isl_tokens` prompt tokens, then computes the rest. Never without
    /// `conditional_disagg_enabled`.
    pub fn bypasses_prefill_pool(&self, isl_tokens: u32, cached_tokens: u32) -> bool {
        let uncached = isl_tokens.saturating_sub(cached_tokens);
        let few = match self.conditional_disagg_policy {
            ConditionalDisaggPolicy::IslBounding => {
                let share = self.conditional_disagg_eff_isl_ratio_threshold;
                u64::from(uncached) < self.conditional_disagg_eff_isl_threshold
                    && f64::from(uncached) < share * f64::from(isl_tokens)
            }
        };
        self.conditional_disagg_enabled && few
    }
}
