//! How requests are placed.

use kv_router::{QueuePolicy, RouterConfig};
use serde::{Deserialize, Serialize};

use super::ReplayConfig;
use crate::error::ConfigError;

/// The placement policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouterPolicy {
    /// One worker after the other, whatever they hold.
    #[default]
    RoundRobin,
    /// The cheapest worker by prefill work, cached prefix and load.
    KvRouter,
}

/// How requests are placed. All but the policy are parameters of the KV router; see its
/// documentation for the cost that they weigh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouterSettings {
    /// The policy.
    pub policy: RouterPolicy,
    /// Blocks credited for each block of cached prefix.
    pub overlap_score_credit: f64,
    /// How fast that credit fades on workers with more prefill to do.
    pub overlap_score_credit_decay: f64,
    /// Weight of the prefill work.
    pub prefill_load_scale: f64,
    /// Blocks charged for each active request.
    pub decode_active_request_weight: f64,
    /// 0 takes the cheapest worker; above 0 draws from a softmax.
    pub temperature: f64,
    /// Whether active blocks count.
    pub track_active_blocks: bool,
    /// Whether prefill work in progress counts.
    pub track_prefill_tokens: bool,
    /// Whether equal blocks of active requests count once.
    pub assume_kv_reuse: bool,
    /// Fraction of `max_num_batched_tokens` of prefill work above which a worker is busy; requests
    /// wait while all are. `None` = they never wait.
    pub queue_threshold: Option<f64>,
    /// Order of those that wait.
    pub queue_policy: QueuePolicy,
}

impl Default for RouterSettings {
    fn default() -> Self {
        let core = RouterConfig::default();
        Self {
            policy: RouterPolicy::default(),
            overlap_score_credit: core.overlap_score_credit,
            overlap_score_credit_decay: core.overlap_score_credit_decay,
            prefill_load_scale: core.prefill_load_scale,
            decode_active_request_weight: core.decode_active_request_weight,
            temperature: core.router_temperature,
            track_active_blocks: core.router_track_active_blocks,
            track_prefill_tokens: core.router_track_prefill_tokens,
            assume_kv_reuse: core.router_assume_kv_reuse,
            queue_threshold: core.router_queue_threshold,
            queue_policy: core.router_queue_policy,
        }
    }
}

impl RouterSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let untouched = Self {
            policy: self.policy,
            ..Self::default()
        };
        if self.policy == RouterPolicy::RoundRobin && *self != untouched {
            return Err(ConfigError::new(
                "router",
                "round_robin knows no parameters, but some of the KV router were given",
                "use --router kv_router, or leave them out",
            ));
        }
        Ok(())
    }
}

impl ReplayConfig {
    /// The configuration of the KV router that these settings mean.
    pub fn router_config(&self) -> RouterConfig {
        let router = &self.router;
        RouterConfig {
            seed: self.seed,
            block_size: self.engine.block_size,
            overlap_score_credit: router.overlap_score_credit,
            overlap_score_credit_decay: router.overlap_score_credit_decay,
            prefill_load_scale: router.prefill_load_scale,
            decode_active_request_weight: router.decode_active_request_weight,
            router_temperature: router.temperature,
            router_track_active_blocks: router.track_active_blocks,
            router_track_prefill_tokens: router.track_prefill_tokens,
            router_assume_kv_reuse: router.assume_kv_reuse,
            router_queue_threshold: router.queue_threshold,
            router_queue_policy: router.queue_policy,
            ..RouterConfig::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_refuses_parameters_that_it_would_ignore() {
        let read = |text| ReplayConfig::from_json(text);
        let error = read(r#"{"router": {"temperature": 0.5}}"#).unwrap_err();
        assert_eq!(error.setting, "router");
        let config = read(r#"{"router": {"policy": "kv_router", "temperature": 0.5}}"#).unwrap();
        assert_eq!(config.router_config().router_temperature, 0.5);
    }

    #[test]
    fn the_seed_and_the_block_size_reach_the_router() {
        let text =
            r#"{"seed": 9, "engine": {"block_size": 32}, "router": {"policy": "kv_router"}}"#;
        let router = ReplayConfig::from_json(text).unwrap().router_config();
        assert_eq!((router.seed, router.block_size), (9, 32));
    }
}
