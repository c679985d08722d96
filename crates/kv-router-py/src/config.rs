//! Configuration objects, which are dataclasses of `kv_router.config`.

use kv_router::{
    AffinityConfig, ClassConfig, Overrides, PolicyConfig, RouterConfig, SessionSpec, TrackingKey,
    WorkerConfig,
};
use pyo3::prelude::*;

use crate::args::{Readable, invalid, read, read_choice, read_opt};
use crate::errors::refuse;

/// Attributes of an object, read by name.
struct Fields<'a, 'py>(&'a Bound<'py, PyAny>, &'static str);

impl<'py> Fields<'_, 'py> {
    fn raw(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing = |_| invalid(self.1, self.0, &format!("a {0} (it lacks {name})", self.1));
        self.0.getattr(name).map_err(missing)
    }

    fn get<T: Readable>(&self, name: &str) -> PyResult<T> {
        read(name, &self.raw(name)?)
    }

    fn opt<T: Readable>(&self, name: &str) -> PyResult<Option<T>> {
        read_opt(name, &self.raw(name)?)
    }

    fn choice<T: serde::de::DeserializeOwned>(&self, name: &str) -> PyResult<T> {
        read_choice(name, &self.raw(name)?)
    }

    fn nested<T>(
        &self,
        name: &str,
        read: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        let value = self.raw(name)?;
        if value.is_none() {
            Ok(None)
        } else {
            read(&value).map(Some)
        }
    }

    fn list<T>(
        &self,
        name: &str,
        read: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Vec<T>> {
        list(name, &self.raw(name)?, read)
    }
}

/// Reads a list of objects.
pub(crate) fn list<'py, T>(
    name: &str,
    value: &Bound<'py, PyAny>,
    read: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let items = value
        .try_iter()
        .map_err(|_| invalid(name, value, "a list"))?;
    items.map(|item| read(&item?)).collect()
}

pub(crate) fn router(value: &Bound<'_, PyAny>) -> PyResult<RouterConfig> {
    let from = Fields(value, "RouterConfig");
    Ok(RouterConfig {
        seed: from.get("seed")?,
        block_size: from.get("block_size")?,
        worker_type: from.choice("worker_type")?,
        overlap_score_credit: from.get("overlap_score_credit")?,
        overlap_score_credit_decay: from.get("overlap_score_credit_decay")?,
        prefill_load_scale: from.get("prefill_load_scale")?,
        overlap_score_weight: from.opt("overlap_score_weight")?,
        router_event_threads: from.get("router_event_threads")?,
        router_tracking_hash: from.choice("router_tracking_hash")?,
        router_tracking_key: from.nested("router_tracking_key", tracking_key)?,
        router_tracking_key_id: from.opt("router_tracking_key_id")?,
        conditional_disagg_enabled: from.get("conditional_disagg_enabled")?,
        conditional_disagg_policy: from.choice("conditional_disagg_policy")?,
        conditional_disagg_eff_isl_threshold: from.get("conditional_disagg_eff_isl_threshold")?,
        conditional_disagg_eff_isl_ratio_threshold: from
            .get("conditional_disagg_eff_isl_ratio_threshold")?,
        decode_active_request_weight: from.get("decode_active_request_weight")?,
        host_cache_hit_weight: from.get("host_cache_hit_weight")?,
        disk_cache_hit_weight: from.get("disk_cache_hit_weight")?,
        shared_cache_multiplier: from.opt("shared_cache_multiplier")?,
        shared_cache_type: from.choice("shared_cache_type")?,
        router_temperature: from.get("router_temperature")?,
        use_kv_events: from.get("use_kv_events")?,
        router_approximate_cache_policy: from.choice("router_approximate_cache_policy")?,
        router_ttl_secs: from.get("router_ttl_secs")?,
        router_predicted_ttl_secs: from.opt("router_predicted_ttl_secs")?,
        router_track_active_blocks: from.get("router_track_active_blocks")?,
        router_track_output_blocks: from.get("router_track_output_blocks")?,
        router_assume_kv_reuse: from.get("router_assume_kv_reuse")?,
        router_track_prefill_tokens: from.get("router_track_prefill_tokens")?,
        router_prefill_load_model: from.choice("router_prefill_load_model")?,
        router_queue_threshold: from.opt("router_queue_threshold")?,
        router_queue_policy: from.choice("router_queue_policy")?,
        router_policy_config: from.nested("router_policy_config", policy)?,
        wspt_max_wait_ms: from.get("wspt_max_wait_ms")?,
        affinity: from.nested("affinity", affinity)?,
        evidence_limit: from.get("evidence_limit")?,
    })
}

fn tracking_key(value: &Bound<'_, PyAny>) -> PyResult<TrackingKey> {
    // The value is a secret: the refusal does not show it.
    let wrong = |_| {
        let expected = "32 bytes, or None";
        refuse(
            value.py(),
            "invalid_value",
            "router_tracking_key",
            "a secret",
            expected,
        )
    };
    value.extract().map(TrackingKey).map_err(wrong)
}

pub(crate) fn affinity(value: &Bound<'_, PyAny>) -> PyResult<AffinityConfig> {
    let from = Fields(value, "AffinityConfig");
    Ok(AffinityConfig {
        mode: from.choice("mode")?,
        ttl_secs: from.get("ttl_secs")?,
        binding: from.choice("binding")?,
        max_entries: from.get("max_entries")?,
    })
}

fn policy(value: &Bound<'_, PyAny>) -> PyResult<PolicyConfig> {
    let from = Fields(value, "PolicyConfig");
    let classes = from.list("classes", |value| {
        let from = Fields(value, "ClassConfig");
        Ok(ClassConfig {
            name: from.get("name")?,
            policy_family: from.get("policy_family")?,
            cache_bucket: from.get("cache_bucket")?,
            queue_policy: from.choice("queue_policy")?,
            quantum: from.get("quantum")?,
            prefill_busy_threshold: from.opt("prefill_busy_threshold")?,
            prefill_busy_threshold_frac: from.opt("prefill_busy_threshold_frac")?,
            busy_worker_ratio: from.opt("busy_worker_ratio")?,
            request_queue_limit_per_worker: from.opt("request_queue_limit_per_worker")?,
            raw_isl_token_queue_limit_per_worker: from
                .opt("raw_isl_token_queue_limit_per_worker")?,
            cached_token_queue_limit_per_worker: from.opt("cached_token_queue_limit_per_worker")?,
        })
    })?;
    Ok(PolicyConfig {
        default_family: from.get("default_family")?,
        classes,
    })
}

pub(crate) fn worker(value: &Bound<'_, PyAny>) -> PyResult<WorkerConfig> {
    let from = Fields(value, "WorkerConfig");
    Ok(WorkerConfig {
        worker_id: from.get("worker_id")?,
        dp_size: from.get("dp_size")?,
        dp_start: from.get("dp_start")?,
        total_kv_blocks: from.opt("total_kv_blocks")?,
        max_num_batched_tokens: from.opt("max_num_batched_tokens")?,
        taints: from.list("taints", |taint| read("taints", taint))?,
    })
}

pub(crate) fn workers(value: &Bound<'_, PyAny>) -> PyResult<Vec<WorkerConfig>> {
    list("workers", value, worker)
}

pub(crate) fn session(value: &Bound<'_, PyAny>) -> PyResult<SessionSpec> {
    let from = Fields(value, "Session");
    Ok(SessionSpec {
        play: from.get("play")?,
        session_id: from.get("session_id")?,
        root: from.opt("root")?,
        parent: from.opt("parent")?,
    })
}

pub(crate) fn overrides(value: &Bound<'_, PyAny>) -> PyResult<Overrides> {
    let from = Fields(value, "Overrides");
    Ok(Overrides {
        overlap_score_credit: from.opt("overlap_score_credit")?,
        prefill_load_scale: from.opt("prefill_load_scale")?,
        router_temperature: from.opt("router_temperature")?,
        router_assume_kv_reuse: from.opt("router_assume_kv_reuse")?,
        router_track_prefill_tokens: from.opt("router_track_prefill_tokens")?,
        shared_cache_multiplier: from.opt("shared_cache_multiplier")?,
    })
}
