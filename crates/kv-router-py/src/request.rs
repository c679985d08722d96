//! Requests.

use kv_router::{Candidate, Pin, RequestSpec, TierOverlap};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::args::{self, Readable, invalid, read};
use crate::config;
use crate::errors::Raise;

/// What a request wants.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct Request {
    pub(crate) spec: RequestSpec,
}

#[pymethods]
impl Request {
    #[new]
    #[pyo3(signature = (
        request_id, isl_tokens, sequence_hashes=None, *, block_hashes=None,
        expected_output_tokens=None, priority_jump=0.0, strict_priority=0, due_ms=None,
        policy_class=None, session=None, authored_request_id=None, pinned=None, preferred=None,
        allowed_workers=None, required_taints=None, preferred_taints=None, lower_tiers=None,
        shared_cache_blocks=0, expected_prefill_ms=None, overrides=None
    ))]
    #[allow(
        clippy::too_many_arguments,
        reason = "they are the fields of a request"
    )]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
        #[pyo3(from_py_with = args::isl_tokens)] isl_tokens: u32,
        sequence_hashes: Option<&Bound<'_, PyAny>>,
        block_hashes: Option<&Bound<'_, PyAny>>,
        expected_output_tokens: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = args::priority_jump)] priority_jump: f64,
        #[pyo3(from_py_with = args::strict_priority)] strict_priority: i32,
        due_ms: Option<&Bound<'_, PyAny>>,
        policy_class: Option<&Bound<'_, PyAny>>,
        session: Option<&Bound<'_, PyAny>>,
        authored_request_id: Option<&Bound<'_, PyAny>>,
        pinned: Option<&Bound<'_, PyAny>>,
        preferred: Option<&Bound<'_, PyAny>>,
        allowed_workers: Option<&Bound<'_, PyAny>>,
        required_taints: Option<&Bound<'_, PyAny>>,
        preferred_taints: Option<&Bound<'_, PyAny>>,
        lower_tiers: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = args::shared_cache_blocks)] shared_cache_blocks: u32,
        expected_prefill_ms: Option<&Bound<'_, PyAny>>,
        overrides: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let hashes = |name, value: Option<&Bound<'_, PyAny>>| match value {
            Some(value) => args::hashes(name, value),
            None => Ok(Vec::new()),
        };
        let preferred: Option<(u32, u32)> = optional("preferred", preferred)?;
        let spec = RequestSpec {
            request_id,
            isl_tokens,
            expected_output_tokens: optional("expected_output_tokens", expected_output_tokens)?,
            sequence_hashes: hashes("sequence_hashes", sequence_hashes)?,
            block_hashes: hashes("block_hashes", block_hashes)?,
            priority_jump,
            strict_priority,
            due_ms: optional("due_ms", due_ms)?,
            policy_class: optional("policy_class", policy_class)?,
            session: session.map(config::session).transpose()?,
            authored_request_id: optional("authored_request_id", authored_request_id)?,
            pinned: pinned.map(pin).transpose()?,
            preferred: preferred.map(|(worker, rank)| Candidate::new(worker, rank)),
            allowed_workers: optional("allowed_workers", allowed_workers)?,
            required_taints: optional("required_taints", required_taints)?.unwrap_or_default(),
            preferred_taints: preferred_taints.map_or_else(|| Ok(Vec::new()), weights)?,
            lower_tiers: lower_tiers.map_or_else(|| Ok(Vec::new()), tiers)?,
            shared_cache_blocks,
            expected_prefill_ms: optional("expected_prefill_ms", expected_prefill_ms)?,
            overrides: overrides
                .map(config::overrides)
                .transpose()?
                .unwrap_or_default(),
        };
        Ok(Self {
            spec: py.detach(|| spec.complete()).raise(py)?,
        })
    }

    /// The request's number.
    #[getter]
    fn request_id(&self) -> u64 {
        self.spec.request_id
    }

    /// Prompt length, tokens.
    #[getter]
    fn isl_tokens(&self) -> u32 {
        self.spec.isl_tokens
    }

    fn __repr__(&self) -> String {
        let RequestSpec {
            request_id,
            isl_tokens,
            ..
        } = self.spec;
        format!("Request(request_id={request_id}, isl_tokens={isl_tokens}, ...)")
    }
}

fn optional<T: Readable>(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>> {
    value.map(|value| read(name, value)).transpose()
}

fn pin(value: &Bound<'_, PyAny>) -> PyResult<Pin> {
    if let Ok((worker_id, dp_rank)) = value.extract::<(u32, u32)>() {
        return Ok(Pin {
            worker_id,
            dp_rank: Some(dp_rank),
        });
    }
    let expected = "a worker id, or a pair (worker_id, dp_rank)";
    let worker_id = value
        .extract()
        .map_err(|_| invalid("pinned", value, expected))?;
    Ok(Pin {
        worker_id,
        dp_rank: None,
    })
}

fn weights(value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
    let wrong = || invalid("preferred_taints", value, "a dict from taint to weight");
    let weights = value.cast::<PyDict>().map_err(|_| wrong())?;
    weights
        .iter()
        .map(|(taint, weight)| {
            Ok((
                taint.extract().map_err(|_| wrong())?,
                weight.extract().map_err(|_| wrong())?,
            ))
        })
        .collect()
}

fn tiers(value: &Bound<'_, PyAny>) -> PyResult<Vec<TierOverlap>> {
    let expected = "a dict from (worker_id, dp_rank) to (host_blocks, disk_blocks)";
    let wrong = || invalid("lower_tiers", value, expected);
    let tiers = value.cast::<PyDict>().map_err(|_| wrong())?;
    tiers
        .iter()
        .map(|(candidate, blocks)| {
            let (worker, rank) = candidate.extract().map_err(|_| wrong())?;
            let (host_blocks, disk_blocks) = blocks.extract().map_err(|_| wrong())?;
            let candidate = Candidate::new(worker, rank);
            Ok(TierOverlap {
                candidate,
                host_blocks,
                disk_blocks,
            })
        })
        .collect()
}
