//! An owned request: what hosts outside Rust hand over.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, RouterError};
use crate::hash::sequence_hashes;
use crate::types::{
    Candidate, Overrides, Pin, PlaceRequest, RequestId, SessionIdentity, TierOverlap, WorkerId,
};

/// The owned form of [`PlaceRequest`]; fields mean the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// See [`PlaceRequest::request_id`].
    pub request_id: RequestId,
    /// See [`PlaceRequest::isl_tokens`].
    pub isl_tokens: u32,
    /// See [`PlaceRequest::expected_output_tokens`].
    #[serde(default)]
    pub expected_output_tokens: Option<u32>,
    /// See [`PlaceRequest::sequence_hashes`].
    #[serde(default)]
    pub sequence_hashes: Vec<u64>,
    /// Block hashes in place of sequence hashes, which are then computed.
    #[serde(default)]
    pub block_hashes: Vec<u64>,
    /// See [`PlaceRequest::priority_jump`].
    #[serde(default)]
    pub priority_jump: f64,
    /// See [`PlaceRequest::strict_priority`].
    #[serde(default)]
    pub strict_priority: i32,
    /// See [`PlaceRequest::due_ms`].
    #[serde(default)]
    pub due_ms: Option<f64>,
    /// See [`PlaceRequest::policy_class`].
    #[serde(default)]
    pub policy_class: Option<String>,
    /// See [`PlaceRequest::session`].
    #[serde(default)]
    pub session: Option<SessionSpec>,
    /// See [`PlaceRequest::authored_request_id`].
    #[serde(default)]
    pub authored_request_id: Option<String>,
    /// See [`PlaceRequest::pinned`].
    #[serde(default)]
    pub pinned: Option<Pin>,
    /// See [`PlaceRequest::preferred`].
    #[serde(default)]
    pub preferred: Option<Candidate>,
    /// See [`PlaceRequest::allowed_workers`].
    #[serde(default)]
    pub allowed_workers: Option<Vec<WorkerId>>,
    /// See [`PlaceRequest::required_taints`].
    #[serde(default)]
    pub required_taints: Vec<String>,
    /// See [`PlaceRequest::preferred_taints`]: pairs of taint and weight.
    #[serde(default)]
    pub preferred_taints: Vec<(String, f64)>,
    /// See [`PlaceRequest::lower_tiers`].
    #[serde(default)]
    pub lower_tiers: Vec<TierOverlap>,
    /// See [`PlaceRequest::shared_cache_blocks`].
    #[serde(default)]
    pub shared_cache_blocks: u32,
    /// See [`PlaceRequest::expected_prefill_ms`].
    #[serde(default)]
    pub expected_prefill_ms: Option<f64>,
    /// See [`PlaceRequest::overrides`].
    #[serde(default)]
    pub overrides: Overrides,
}

/// The owned form of [`SessionIdentity`]; fields mean the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// See [`SessionIdentity::play`].
    #[serde(default)]
    pub play: String,
    /// See [`SessionIdentity::session_id`].
    pub session_id: String,
    /// See [`SessionIdentity::root`].
    #[serde(default)]
    pub root: Option<String>,
    /// See [`SessionIdentity::parent`].
    #[serde(default)]
    pub parent: Option<String>,
}

impl SessionSpec {
    /// The borrowed form.
    pub fn identity(&self) -> SessionIdentity<'_> {
        SessionIdentity {
            play: &self.play,
            session_id: &self.session_id,
            root: self.root.as_deref(),
            parent: self.parent.as_deref(),
        }
    }
}

impl From<SessionIdentity<'_>> for SessionSpec {
    fn from(identity: SessionIdentity<'_>) -> Self {
        Self {
            play: identity.play.to_string(),
            session_id: identity.session_id.to_string(),
            root: identity.root.map(str::to_string),
            parent: identity.parent.map(str::to_string),
        }
    }
}

impl From<&PlaceRequest<'_>> for RequestSpec {
    fn from(request: &PlaceRequest<'_>) -> Self {
        let required = request.required_taints.iter();
        let preferred = request.preferred_taints.iter();
        Self {
            request_id: request.request_id,
            isl_tokens: request.isl_tokens,
            expected_output_tokens: request.expected_output_tokens,
            sequence_hashes: request.sequence_hashes.to_vec(),
            block_hashes: Vec::new(),
            priority_jump: request.priority_jump,
            strict_priority: request.strict_priority,
            due_ms: request.due_ms,
            policy_class: request.policy_class.map(str::to_string),
            session: request.session.map(SessionSpec::from),
            authored_request_id: request.authored_request_id.map(str::to_string),
            pinned: request.pinned,
            preferred: request.preferred,
            allowed_workers: request.allowed_workers.map(<[WorkerId]>::to_vec),
            required_taints: required.map(|taint| (*taint).to_string()).collect(),
            preferred_taints: preferred
                .map(|&(taint, weight)| (taint.to_string(), weight))
                .collect(),
            lower_tiers: request.lower_tiers.to_vec(),
            shared_cache_blocks: request.shared_cache_blocks,
            expected_prefill_ms: request.expected_prefill_ms,
            overrides: request.overrides,
        }
    }
}

impl RequestSpec {
    /// Computes the sequence hashes of a request that came with block hashes.
    ///
    /// # Errors
    /// `InvalidValue` when it came with both.
    pub fn complete(mut self) -> Result<Self, RouterError> {
        if self.block_hashes.is_empty() {
            return Ok(self);
        }
        if !self.sequence_hashes.is_empty() {
            return Err(RouterError::new(
                ErrorKind::InvalidValue,
                "block_hashes",
                format!("{} hashes", self.block_hashes.len()),
                "none beside sequence_hashes: one of the two",
            ));
        }
        self.sequence_hashes = sequence_hashes(&std::mem::take(&mut self.block_hashes));
        Ok(self)
    }

    /// Calls `place` with the borrowed form of a complete request.
    pub fn with<R>(&self, place: impl FnOnce(&PlaceRequest<'_>) -> R) -> R {
        let required: Vec<_> = self.required_taints.iter().map(String::as_str).collect();
        let preferred = self.preferred_taints.iter();
        let preferred: Vec<_> = preferred
            .map(|(taint, weight)| (taint.as_str(), *weight))
            .collect();
        place(&PlaceRequest {
            request_id: self.request_id,
            isl_tokens: self.isl_tokens,
            expected_output_tokens: self.expected_output_tokens,
            sequence_hashes: &self.sequence_hashes,
            priority_jump: self.priority_jump,
            strict_priority: self.strict_priority,
            due_ms: self.due_ms,
            policy_class: self.policy_class.as_deref(),
            session: self.session.as_ref().map(SessionSpec::identity),
            authored_request_id: self.authored_request_id.as_deref(),
            pinned: self.pinned,
            preferred: self.preferred,
            allowed_workers: self.allowed_workers.as_deref(),
            required_taints: &required,
            preferred_taints: &preferred,
            lower_tiers: &self.lower_tiers,
            shared_cache_blocks: self.shared_cache_blocks,
            expected_prefill_ms: self.expected_prefill_ms,
            overrides: self.overrides,
        })
    }
}
