//! The router.

use kv_router::{Candidate, OfflineRouter as Native};
use pyo3::prelude::*;

use crate::affine::Affine;
use crate::args;
use crate::config;
use crate::errors::{Raise, refuse};
use crate::events::Event;
use crate::outcome::{CandidateLoad, Decision, IndexCounters, Placed, decisions};
use crate::request::Request;

/// The routing policy under the host's clock.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct OfflineRouter {
    router: Affine<Native>,
}

impl OfflineRouter {
    fn released(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Native) -> Result<Vec<kv_router::Decision>, kv_router::RouterError>,
    ) -> PyResult<Vec<Decision>> {
        self.router.with(py, call)?.raise(py).map(decisions)
    }
}

#[pymethods]
impl OfflineRouter {
    #[new]
    #[pyo3(signature = (config, workers=None))]
    fn new(
        py: Python<'_>,
        config: &Bound<'_, PyAny>,
        workers: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let config = config::router(config)?;
        let workers = workers.map_or_else(|| Ok(Vec::new()), config::workers)?;
        Ok(Self {
            router: Affine::new(Native::new(config, &workers).raise(py)?),
        })
    }

    /// A router from JSON.
    #[staticmethod]
    fn from_json(
        py: Python<'_>,
        #[pyo3(from_py_with = args::text)] text: String,
    ) -> PyResult<Self> {
        Ok(Self {
            router: Affine::new(Native::from_json(&text).raise(py)?),
        })
    }

    /// Carries out one JSON command.
    fn command(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::text)] text: String,
    ) -> PyResult<String> {
        self.router
            .with_items(py, text.len(), |router| router.command(&text))
    }

    /// Whether a request may bypass the prefill pool by the `conditional_disagg_*` parameters:
    /// `cached_tokens` of its `isl_tokens` are at its decode worker.
    fn bypasses_prefill_pool(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::isl_tokens)] isl_tokens: u32,
        #[pyo3(from_py_with = args::cached_tokens)] cached_tokens: u32,
    ) -> PyResult<bool> {
        self.router.with(py, |router| {
            let config = router.scheduler().config();
            config.bypasses_prefill_pool(isl_tokens, cached_tokens)
        })
    }

    /// The configuration as JSON.
    fn config_json(&self, py: Python<'_>) -> PyResult<String> {
        let config = self
            .router
            .with(py, |router| router.scheduler().config().clone())?;
        serde_json::to_string(&config).map_err(|error| {
            refuse(
                py,
                "invalid_value",
                "config",
                error,
                "a configuration that JSON can hold",
            )
        })
    }

    /// Places a request, or keeps it waiting.
    fn place(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        request: &Bound<'_, Request>,
    ) -> PyResult<Placed> {
        let spec = &request.get().spec;
        let place = |router: &mut Native| spec.with(|spec| router.place(now_ms, spec));
        let placed = self
            .router
            .with_items(py, spec.sequence_hashes.len(), place)?;
        placed.raise(py).map(Into::into)
    }

    /// Applies a cache event of a candidate.
    fn observe(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::dp_rank)] dp_rank: u32,
        event: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let event = Event::of(event)?;
        let (source, native) = (Candidate::new(worker_id, dp_rank), event.native());
        let observe = |router: &mut Native| router.observe(now_ms, source, native);
        self.router.with_items(py, event.len(), observe)?.raise(py)
    }

    /// The prompt is computed.
    fn prefill_completed(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.prefill_completed(now_ms, request_id))
    }

    /// The request produced a block of output.
    #[pyo3(signature = (now_ms, request_id, decay_fraction=None))]
    fn add_output_block(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
        #[pyo3(from_py_with = args::decay_fraction)] decay_fraction: Option<f64>,
    ) -> PyResult<()> {
        let add = |router: &mut Native| router.add_output_block(now_ms, request_id, decay_fraction);
        self.router.with(py, add)?.raise(py)
    }

    /// The worker and rank took the request.
    fn dispatch_committed(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::dp_rank)] dp_rank: u32,
    ) -> PyResult<Vec<Decision>> {
        let at = Candidate::new(worker_id, dp_rank);
        self.released(py, |router| {
            router.dispatch_committed(now_ms, request_id, at)
        })
    }

    /// The dispatch failed.
    fn dispatch_aborted(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.dispatch_aborted(now_ms, request_id))
    }

    /// The request ended.
    fn request_terminal(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.request_terminal(now_ms, request_id))
    }

    /// Withdraws a request that waits or is not yet dispatched.
    fn cancel(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.cancel(now_ms, request_id))
    }

    /// Adds a worker.
    fn worker_ready(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        worker: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Decision>> {
        let worker = config::worker(worker)?;
        self.released(py, |router| router.worker_ready(now_ms, &worker))
    }

    /// The worker takes no new requests.
    fn worker_draining(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.worker_draining(now_ms, worker_id))
    }

    /// The worker is dead but not yet removed.
    fn worker_fenced(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.worker_fenced(now_ms, worker_id))
    }

    /// Sets or ends the overload of a worker.
    fn worker_overloaded(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::overloaded)] overloaded: bool,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| {
            router.worker_overloaded(now_ms, worker_id, overloaded)
        })
    }

    /// The worker is gone.
    fn worker_removed(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.worker_removed(now_ms, worker_id))
    }

    /// Topology changes are done.
    fn topology_settled(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.topology_settled(now_ms))
    }

    /// Time passed.
    fn advance_clock(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |router| router.advance_clock(now_ms))
    }

    /// The earliest time at which `advance_clock` can let a waiter go.
    fn next_wakeup_ms(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.router.with(py, |router| router.next_wakeup_ms())
    }

    /// Number of requests that wait.
    fn pending_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.router.with(py, |router| router.pending_count())
    }

    /// Number of session keys in use.
    fn session_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.router.with(py, |router| router.session_count())
    }

    /// What the router did so far.
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self
            .router
            .with(py, |router| serde_json::to_string(router.evidence()))?;
        let text = text.expect("evidence is JSON");
        py.import("json")?.getattr("loads")?.call1((text,))
    }

    /// Load of every candidate.
    fn loads(&self, py: Python<'_>) -> PyResult<Vec<CandidateLoad>> {
        let loads = self.router.with(py, |router| router.scheduler().loads())?;
        Ok(loads.into_iter().map(Into::into).collect())
    }

    /// What cache events did so far.
    fn index_counters(&self, py: Python<'_>) -> PyResult<IndexCounters> {
        self.router
            .with(py, |router| router.index().counters().into())
    }

    /// Distinct blocks in the prefix index.
    fn index_blocks(&self, py: Python<'_>) -> PyResult<usize> {
        self.router.with(py, |router| router.index().len())
    }

    /// Digest of the whole state.
    fn state_digest(&self, py: Python<'_>) -> PyResult<u64> {
        self.router
            .with_items(py, usize::MAX, |router| router.state_digest())
    }
}
