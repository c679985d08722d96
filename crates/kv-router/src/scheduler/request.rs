//! A request as the scheduler keeps it: owned and checked.

use std::sync::Arc;

use crate::config::{RouterConfig, SharedCacheType};
use crate::config::{non_negative, validate_finite};
use crate::error::{ErrorKind, RouterError};
use crate::types::{Candidate, Overrides, Pin, PlaceRequest, RequestId, TierOverlap, WorkerId};

/// What placing a request needs; its constraints decide its lane.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) isl_tokens: u32,
    pub(crate) chain: Arc<[u64]>,
    /// Names under which the load tracks the blocks of the chain.
    pub(crate) tracked: Arc<[u64]>,
    pub(crate) priority_jump: f64,
    pub(crate) strict_priority: i32,
    pub(crate) due_ms: Option<f64>,
    pub(crate) constraint: Constraint,
    /// Whether the pin of the constraint is a session binding.
    pub(crate) bound: bool,
    /// The pin that the host asked for.
    own_pin: Option<Pin>,
    pub(crate) preferred: Option<Candidate>,
    pub(crate) preferred_taints: Vec<(String, f64)>,
    pub(crate) lower_tiers: Vec<TierOverlap>,
    pub(crate) shared_cache_blocks: u32,
    pub(crate) expected_prefill_ms: Option<f64>,
    pub(crate) overrides: Overrides,
    pub(crate) policy_class: Option<Box<str>>,
    pub(crate) label: Option<Box<Label>>,
}

/// Names for the evidence that placement does not look at.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) authored_request_id: Option<Box<str>>,
    pub(crate) session_id: Option<Box<str>>,
}

/// A request on its way to a placement.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) request: Request,
    /// Its policy class.
    pub(crate) class: usize,
    /// Prompt tokens that the best admitted candidate held when the request was looked at last.
    pub(crate) cached_tokens: u32,
    pub(crate) arrival_ms: f64,
    /// Number of the arrival, above those of all earlier ones.
    pub(crate) arrival: u64,
}

impl Waiter {
    /// What serving the request takes from its class, tokens.
    pub(crate) fn cost(&self) -> u64 {
        u64::from(self.request.isl_tokens - self.cached_tokens).max(1)
    }
}

/// Which candidates a request may run on, whatever their load. Requests with equal constraints
/// wait in one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Constraint {
    pub(crate) pin: Option<Pin>,
    /// Sorted.
    pub(crate) allowed_workers: Option<Vec<WorkerId>>,
    /// Sorted.
    pub(crate) required_taints: Vec<String>,
}

impl Request {
    pub(crate) fn new(config: &RouterConfig, from: &PlaceRequest<'_>) -> Result<Self, RouterError> {
        check(config, from)?;
        let sorted = |ids: &[WorkerId]| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids
        };
        let mut required_taints: Vec<_> = from
            .required_taints
            .iter()
            .map(|taint| (*taint).to_owned())
            .collect();
        required_taints.sort_unstable();
        let preferred_taints = from.preferred_taints.iter();
        let chain: Arc<[u64]> = from.sequence_hashes.into();
        Ok(Self {
            id: from.request_id,
            isl_tokens: from.isl_tokens,
            tracked: config.tracked(&chain),
            chain,
            priority_jump: from.priority_jump,
            strict_priority: from.strict_priority,
            due_ms: from.due_ms,
            constraint: Constraint {
                pin: from.pinned,
                allowed_workers: from.allowed_workers.map(sorted),
                required_taints,
            },
            bound: false,
            own_pin: from.pinned,
            preferred: from.preferred,
            preferred_taints: preferred_taints
                .map(|(t, w)| ((*t).to_owned(), *w))
                .collect(),
            lower_tiers: from.lower_tiers.to_vec(),
            shared_cache_blocks: from.shared_cache_blocks,
            expected_prefill_ms: from.expected_prefill_ms,
            overrides: from.overrides,
            policy_class: from.policy_class.map(Into::into),
            label: Label::of(from),
        })
    }

    /// Ties the request to its session's candidate.
    pub(crate) fn bind(&mut self, to: Candidate) {
        let pin = Pin {
            worker_id: to.worker_id,
            dp_rank: Some(to.dp_rank),
        };
        (self.constraint.pin, self.bound) = (Some(pin), true);
    }

    /// Leaves the request its own constraint only.
    pub(crate) fn unbind(&mut self) {
        (self.constraint.pin, self.bound) = (self.own_pin, false);
    }

    /// Prompt length in blocks, rounded up.
    pub(crate) fn isl_blocks(&self, config: &RouterConfig) -> u32 {
        self.isl_tokens.div_ceil(config.block_size)
    }

    pub(crate) fn tracks_prefill(&self, config: &RouterConfig) -> bool {
        let tracked = self.overrides.router_track_prefill_tokens;
        tracked.unwrap_or(config.router_track_prefill_tokens)
    }

    pub(crate) fn assumes_reuse(&self, config: &RouterConfig) -> bool {
        self.overrides
            .router_assume_kv_reuse
            .unwrap_or(config.router_assume_kv_reuse)
    }

    pub(crate) fn tiers_of(&self, candidate: Candidate) -> (u32, u32) {
        let row = self
            .lower_tiers
            .iter()
            .find(|row| row.candidate == candidate);
        row.map_or((0, 0), |row| (row.host_blocks, row.disk_blocks))
    }
}

impl Label {
    fn of(from: &PlaceRequest<'_>) -> Option<Box<Self>> {
        let session = from.session.map(|session| session.session_id.into());
        if session.is_none() && from.authored_request_id.is_none() {
            return None;
        }
        let authored_request_id = from.authored_request_id.map(Into::into);
        Some(Box::new(Self {
            authored_request_id,
            session_id: session,
        }))
    }
}

fn check(config: &RouterConfig, from: &PlaceRequest<'_>) -> Result<(), RouterError> {
    let invalid = |field: &str, value: String, expected: String| {
        Err(RouterError::new(
            ErrorKind::InvalidValue,
            field,
            value,
            expected,
        ))
    };
    if from.isl_tokens == 0 {
        return invalid("isl_tokens", "0".into(), "at least 1 prompt token".into());
    }
    let complete = (from.isl_tokens / config.block_size) as usize;
    if from.sequence_hashes.len() > complete {
        let value = format!("{} hashes", from.sequence_hashes.len());
        let expected = format!(
            "at most {complete}: the complete blocks of {} tokens at block size {}",
            from.isl_tokens, config.block_size
        );
        return invalid("sequence_hashes", value, expected);
    }
    validate_finite("priority_jump", from.priority_jump)?;
    if let Some(due) = from.due_ms {
        non_negative("due_ms", due)?;
    }
    if let Some(expected) = from.expected_prefill_ms {
        non_negative("expected_prefill_ms", expected)?;
    }
    for (taint, weight) in from.preferred_taints {
        validate_finite(&format!("preferred_taints[{taint}]"), *weight)?;
    }
    let overrides = &from.overrides;
    for (field, value) in [
        ("overlap_score_credit", overrides.overlap_score_credit),
        ("prefill_load_scale", overrides.prefill_load_scale),
        ("router_temperature", overrides.router_temperature),
        ("shared_cache_multiplier", overrides.shared_cache_multiplier),
    ] {
        non_negative(field, value.unwrap_or(0.0))?;
    }
    if from.shared_cache_blocks > 0 && config.shared_cache_type == SharedCacheType::None {
        let value = from.shared_cache_blocks.to_string();
        let expected = "0, or a router whose shared_cache_type is not none".into();
        return invalid("shared_cache_blocks", value, expected);
    }
    if let Some(&[]) = from.allowed_workers {
        return invalid(
            "allowed_workers",
            "[]".into(),
            "at least one worker, or none at all".into(),
        );
    }
    Ok(())
}
