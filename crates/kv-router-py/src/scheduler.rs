//! The scheduler.

use kv_router::{Candidate, LocalScheduler as Native};
use pyo3::prelude::*;

use crate::affine::Affine;
use crate::args;
use crate::config;
use crate::errors::Raise;
use crate::events::Event;
use crate::outcome::{CandidateLoad, Decision, IndexCounters, Placed, PotentialLoad, decisions};
use crate::request::Request;

/// Selection, admission, booking and queueing.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct LocalScheduler {
    scheduler: Affine<Native>,
}

impl LocalScheduler {
    fn released(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Native) -> Result<Vec<kv_router::Decision>, kv_router::RouterError>,
    ) -> PyResult<Vec<Decision>> {
        self.scheduler.with(py, call)?.raise(py).map(decisions)
    }
}

#[pymethods]
impl LocalScheduler {
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
            scheduler: Affine::new(Native::new(config, &workers).raise(py)?),
        })
    }

    /// Places a request, or keeps it waiting.
    fn schedule(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        request: &Bound<'_, Request>,
    ) -> PyResult<Placed> {
        let spec = &request.get().spec;
        let place = |scheduler: &mut Native| spec.with(|spec| scheduler.schedule(now_ms, spec));
        let placed = self
            .scheduler
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
        let observe = |scheduler: &mut Native| scheduler.observe(now_ms, source, native);
        self.scheduler
            .with_items(py, event.len(), observe)?
            .raise(py)
    }

    /// The worker took the request.
    #[pyo3(signature = (now_ms, request_id, attempt=None))]
    fn deliver(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
        #[pyo3(from_py_with = args::attempt)] attempt: Option<u64>,
    ) -> PyResult<()> {
        self.scheduler
            .with(py, |s| s.deliver(now_ms, request_id, attempt))?
            .raise(py)
    }

    /// The delivery failed: the booking is rolled back.
    #[pyo3(signature = (now_ms, request_id, attempt=None))]
    fn rollback(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
        #[pyo3(from_py_with = args::attempt)] attempt: Option<u64>,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.rollback(now_ms, request_id, attempt))
    }

    /// The prompt is computed.
    #[pyo3(signature = (now_ms, request_id, attempt=None))]
    fn prefill_complete(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
        #[pyo3(from_py_with = args::attempt)] attempt: Option<u64>,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.prefill_complete(now_ms, request_id, attempt))
    }

    /// The request ended.
    #[pyo3(signature = (now_ms, request_id, attempt=None))]
    fn free(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
        #[pyo3(from_py_with = args::attempt)] attempt: Option<u64>,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.free(now_ms, request_id, attempt))
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
        self.scheduler
            .with(py, |s| {
                s.add_output_block(now_ms, request_id, decay_fraction)
            })?
            .raise(py)
    }

    /// Withdraws a request that waits or is not yet delivered.
    fn cancel(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.cancel(now_ms, request_id))
    }

    /// Adds a worker.
    fn add_worker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        worker: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Decision>> {
        let worker = config::worker(worker)?;
        self.released(py, |s| s.add_worker(now_ms, &worker))
    }

    /// The worker takes no new requests.
    fn drain_worker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.drain_worker(now_ms, worker_id))
    }

    /// The worker is dead but not yet removed.
    fn fence_worker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.fence_worker(now_ms, worker_id))
    }

    /// Sets or ends the overload of a worker.
    fn set_overloaded(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::overloaded)] overloaded: bool,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.set_overloaded(now_ms, worker_id, overloaded))
    }

    /// The worker is gone.
    fn remove_worker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.remove_worker(now_ms, worker_id))
    }

    /// Time passed.
    fn advance_clock(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.advance_clock(now_ms))
    }

    /// Lets everything go that can.
    fn settle(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
    ) -> PyResult<Vec<Decision>> {
        self.released(py, |s| s.settle(now_ms))
    }

    /// The earliest time at which `advance_clock` can let a waiter go.
    fn next_wakeup_ms(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.scheduler.with(py, |s| s.next_wakeup_ms())
    }

    /// Number of requests that wait.
    fn pending_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.scheduler.with(py, |s| s.pending_count())
    }

    /// Number of requests that are placed and did not end.
    fn active_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.scheduler.with(py, |s| s.active_count())
    }

    /// How many waiters drains looked at so far.
    fn drain_touches(&self, py: Python<'_>) -> PyResult<u64> {
        self.scheduler.with(py, |s| s.drain_touches())
    }

    /// Load of every candidate.
    fn loads(&self, py: Python<'_>) -> PyResult<Vec<CandidateLoad>> {
        let loads = self.scheduler.with(py, |s| s.loads())?;
        Ok(loads.into_iter().map(Into::into).collect())
    }

    /// Load of every candidate with this request on it.
    fn potential_loads(
        &self,
        py: Python<'_>,
        request: &Bound<'_, Request>,
    ) -> PyResult<Vec<PotentialLoad>> {
        let spec = &request.get().spec;
        let loads = |scheduler: &mut Native| spec.with(|spec| scheduler.potential_loads(spec));
        let loads = self
            .scheduler
            .with_items(py, spec.sequence_hashes.len(), loads)?
            .raise(py)?;
        Ok(loads.into_iter().map(Into::into).collect())
    }

    /// What cache events did so far.
    fn index_counters(&self, py: Python<'_>) -> PyResult<IndexCounters> {
        self.scheduler.with(py, |s| s.index().counters().into())
    }

    /// Distinct blocks in the prefix index.
    fn index_blocks(&self, py: Python<'_>) -> PyResult<usize> {
        self.scheduler.with(py, |s| s.index().len())
    }
}
