//! What a configuration must hold.

use std::collections::HashSet;

use super::{ApproximateCachePolicy, PolicyConfig, RouterConfig, WorkerConfig};
use crate::error::{ErrorKind, RouterError};

fn invalid(field: impl Into<String>, value: impl std::fmt::Display, expected: &str) -> RouterError {
    RouterError::new(ErrorKind::InvalidValue, field, value, expected)
}

/// Refuses a number that is not finite and >= 0.
pub(crate) fn non_negative(field: &str, value: f64) -> Result<(), RouterError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(invalid(field, value, "a finite number >= 0"))
}

/// Refuses a number that is not finite and > 0.
fn positive(field: &str, value: f64) -> Result<(), RouterError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(invalid(field, value, "a finite number > 0"))
}

/// Refuses a number that is not finite.
pub(crate) fn validate_finite(field: &str, value: f64) -> Result<(), RouterError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(invalid(field, value, "a finite number"))
}

impl RouterConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// `InvalidValue` or `Unsupported` with the name of the first parameter that is wrong.
    pub fn validate(&self) -> Result<(), RouterError> {
        if self.block_size == 0 {
            return Err(invalid("block_size", 0, "a number >= 1"));
        }
        let optional = |value: Option<f64>| value.unwrap_or(0.0);
        for (field, value) in [
            ("overlap_score_credit", self.overlap_score_credit),
            (
                "overlap_score_credit_decay",
                self.overlap_score_credit_decay,
            ),
            ("prefill_load_scale", self.prefill_load_scale),
            (
                "decode_active_request_weight",
                self.decode_active_request_weight,
            ),
            ("host_cache_hit_weight", self.host_cache_hit_weight),
            ("disk_cache_hit_weight", self.disk_cache_hit_weight),
            (
                "shared_cache_multiplier",
                optional(self.shared_cache_multiplier),
            ),
            ("overlap_score_weight", optional(self.overlap_score_weight)),
            (
                "conditional_disagg_eff_isl_ratio_threshold",
                self.conditional_disagg_eff_isl_ratio_threshold,
            ),
            ("router_temperature", self.router_temperature),
            (
                "router_queue_threshold",
                optional(self.router_queue_threshold),
            ),
        ] {
            non_negative(field, value)?;
        }
        if let Some(weight) = self.overlap_score_weight
            && self.prefill_load_scale != 1.0
        {
            let expected = "none beside prefill_load_scale, of which it is a deprecated name";
            return Err(invalid("overlap_score_weight", weight, expected));
        }
        if self.router_event_threads != 1 {
            return Err(RouterError::new(
                ErrorKind::Unsupported,
                "router_event_threads",
                self.router_event_threads,
                "1: the host's own thread applies the events",
            ));
        }
        self.check_tracking()?;
        positive("wspt_max_wait_ms", self.wspt_max_wait_ms)?;
        positive("router_ttl_secs", self.router_ttl_secs)?;
        if let Some(secs) = self.router_predicted_ttl_secs {
            positive("router_predicted_ttl_secs", secs)?;
            if !self.use_kv_events {
                let expected = "none without use_kv_events: routes are remembered anyway";
                return Err(invalid("router_predicted_ttl_secs", secs, expected));
            }
        }
        if self.use_kv_events && self.router_approximate_cache_policy == ApproximateCachePolicy::Lru
        {
            let expected = "ttl with use_kv_events: the policy is for routers without events";
            return Err(invalid("router_approximate_cache_policy", "lru", expected));
        }
        if let Some(policy) = &self.router_policy_config {
            policy.validate()?;
        }
        if let Some(affinity) = &self.affinity {
            validate_ttl("affinity.ttl_secs", affinity.ttl_secs)?;
            validate_max_entries("affinity.max_entries", affinity.max_entries)?;
        }
        Ok(())
    }
}

pub(crate) fn validate_ttl(field: &str, ttl_secs: f64) -> Result<(), RouterError> {
    if (1.0..=31_536_000.0).contains(&ttl_secs) {
        return Ok(());
    }
    Err(invalid(
        field,
        ttl_secs,
        "seconds from 1 to 31536000, fractions allowed",
    ))
}

pub(crate) fn validate_max_entries(field: &str, entries: usize) -> Result<(), RouterError> {
    if (1..=65_536).contains(&entries) {
        return Ok(());
    }
    Err(invalid(field, entries, "a number from 1 to 65536"))
}

impl PolicyConfig {
    fn validate(&self) -> Result<(), RouterError> {
        let mut names = HashSet::new();
        let mut buckets = HashSet::new();
        for class in &self.classes {
            let field = |name: &str| format!("router_policy_config.{}.{name}", class.name);
            if class.name.is_empty() || !names.insert(&class.name) {
                return Err(invalid(
                    "router_policy_config.name",
                    &class.name,
                    "a unique name",
                ));
            }
            if !buckets.insert((&class.policy_family, class.cache_bucket)) {
                let expected = "another bucket than every other class of the family";
                return Err(invalid(field("cache_bucket"), class.cache_bucket, expected));
            }
            if class.quantum == 0 {
                return Err(invalid(field("quantum"), 0, "a number of tokens >= 1"));
            }
            if let Some(fraction) = class.prefill_busy_threshold_frac {
                non_negative(&field("prefill_busy_threshold_frac"), fraction)?;
            }
            if let Some(ratio) = class.busy_worker_ratio
                && !(ratio > 0.0 && ratio <= 1.0)
            {
                return Err(invalid(
                    field("busy_worker_ratio"),
                    ratio,
                    "a share in (0, 1]",
                ));
            }
        }
        for family in self.classes.iter().map(|class| &class.policy_family) {
            if !buckets.contains(&(family, 0)) {
                let field = format!("router_policy_config family {family}");
                return Err(invalid(
                    field,
                    "no class with cache_bucket 0",
                    "one such class",
                ));
            }
        }
        if !self
            .classes
            .iter()
            .any(|class| class.policy_family == self.default_family)
        {
            let expected = "the policy_family of a class";
            return Err(invalid("default_family", &self.default_family, expected));
        }
        Ok(())
    }
}

impl WorkerConfig {
    /// Refuses a worker that lacks what the router's configuration needs.
    pub(crate) fn suits(&self, config: &RouterConfig) -> Result<(), RouterError> {
        let lru = config.router_approximate_cache_policy == ApproximateCachePolicy::Lru;
        if lru && self.total_kv_blocks.is_none() {
            let expected = "a number of blocks: router_approximate_cache_policy is lru";
            return Err(invalid("total_kv_blocks", "none", expected));
        }
        Ok(())
    }

    /// Checks the worker.
    ///
    /// # Errors
    /// `InvalidValue` with the field that is wrong.
    pub fn validate(&self) -> Result<(), RouterError> {
        if self.dp_size == 0 || self.dp_start.checked_add(self.dp_size).is_none() {
            let expected = "at least 1, and dp_start + dp_size within 32 bits";
            return Err(invalid("dp_size", self.dp_size, expected));
        }
        if self.max_num_batched_tokens == Some(0) {
            return Err(invalid("max_num_batched_tokens", 0, "at least 1, or none"));
        }
        if self.total_kv_blocks == Some(0) {
            return Err(invalid("total_kv_blocks", 0, "at least 1, or none"));
        }
        Ok(())
    }
}
