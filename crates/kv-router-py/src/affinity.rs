//! Session affinity.

use kv_router::{Abandoned, Acquired, AffinityMode, Candidate, SessionAffinity as Native};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::affine::Affine;
use crate::args::{self, read_choice};
use crate::config;
use crate::errors::Raise;

/// The right and duty to initialize a key.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct Hold(kv_router::Hold);

#[pymethods]
impl Hold {
    /// The key.
    #[getter]
    fn key(&self) -> &str {
        self.0.key()
    }

    fn __repr__(&self) -> String {
        format!("Hold(key={:?})", self.key())
    }
}

/// A share in a bound key.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct Lease(kv_router::Lease);

#[pymethods]
impl Lease {
    /// The key.
    #[getter]
    fn key(&self) -> &str {
        self.0.key()
    }

    /// The bound (worker id, dp rank) when the lease was given out.
    #[getter]
    fn target(&self) -> (u32, u32) {
        pair(self.0.target())
    }

    fn __repr__(&self) -> String {
        let (worker, rank) = self.target();
        format!("Lease(key={:?}, target=({worker}, {rank}))", self.key())
    }
}

fn pair(candidate: Candidate) -> (u32, u32) {
    (candidate.worker_id, candidate.dp_rank)
}

/// The affinity key of a session.
#[pyfunction]
pub(crate) fn affinity_key(
    py: Python<'_>,
    mode: &Bound<'_, PyAny>,
    session: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let mode: AffinityMode = read_choice("mode", mode)?;
    let session = config::session(session)?;
    let key = kv_router::affinity_key(mode, Some(&session.identity())).raise(py)?;
    Ok(key.to_string())
}

/// Keys, their bindings and leases.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct SessionAffinity {
    table: Affine<Native>,
}

#[pymethods]
impl SessionAffinity {
    #[new]
    fn new(py: Python<'_>, config: &Bound<'_, PyAny>) -> PyResult<Self> {
        let config = config::affinity(config)?;
        Ok(Self {
            table: Affine::new(Native::new(&config).raise(py)?),
        })
    }

    /// Asks for the key on behalf of a request.
    fn acquire<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::key)] key: String,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let acquired = self
            .table
            .with(py, |table| table.acquire(now_ms, &key, request_id))?;
        Ok(match acquired.raise(py)? {
            Acquired::Initializer(hold) => Some(Bound::new(py, Hold(hold))?.into_any()),
            Acquired::Bound(lease) => Some(Bound::new(py, Lease(lease))?.into_any()),
            Acquired::Waiting => None,
        })
    }

    /// Joins an initialization.
    fn join(&self, py: Python<'_>, hold: &Bound<'_, Hold>) -> PyResult<Hold> {
        let hold = &hold.get().0;
        self.table
            .with(py, |table| table.join(hold))?
            .raise(py)
            .map(Hold)
    }

    /// The worker took the initializing request: binds the key.
    fn commit(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        hold: &Bound<'_, Hold>,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::dp_rank)] dp_rank: u32,
    ) -> PyResult<(Lease, Vec<u64>)> {
        let (hold, target) = (&hold.get().0, Candidate::new(worker_id, dp_rank));
        let committed = self
            .table
            .with(py, |table| table.commit(now_ms, hold, target))?;
        let (lease, waiters) = committed.raise(py)?;
        Ok((Lease(lease), waiters))
    }

    /// Gives up an initialization.
    fn abandon<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        hold: &Bound<'_, Hold>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let hold = &hold.get().0;
        match self
            .table
            .with(py, |table| table.abandon(now_ms, hold))?
            .raise(py)?
        {
            Abandoned::Next(request, hold) => (request, Hold(hold)).into_pyobject(py).map(Some),
            Abandoned::Joined | Abandoned::Forgotten => Ok(None),
        }
    }

    /// A request does not wait for the key any more.
    fn withdraw(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::key)] key: String,
        #[pyo3(from_py_with = args::request_id)] request_id: u64,
    ) -> PyResult<bool> {
        self.table
            .with(py, |table| table.withdraw(&key, request_id))
    }

    /// A request with a lease was dispatched.
    fn dispatched(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        lease: &Bound<'_, Lease>,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::dp_rank)] dp_rank: u32,
    ) -> PyResult<()> {
        let (lease, at) = (&lease.get().0, Candidate::new(worker_id, dp_rank));
        self.table
            .with(py, |table| table.dispatched(now_ms, lease, at))?
            .raise(py)
    }

    /// Ends a lease.
    fn release(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        lease: &Bound<'_, Lease>,
    ) -> PyResult<()> {
        let lease = &lease.get().0;
        self.table
            .with(py, |table| table.release(now_ms, lease))?
            .raise(py)
    }

    /// Where the key is bound, without extending anything.
    fn query(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
        #[pyo3(from_py_with = args::key)] key: String,
    ) -> PyResult<Option<(u32, u32)>> {
        self.table
            .with(py, |table| table.query(now_ms, &key).map(pair))
    }

    /// Whether a request initializes the key.
    fn is_initializing(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::key)] key: String,
    ) -> PyResult<bool> {
        self.table.with(py, |table| table.is_initializing(&key))
    }

    /// Ends the binding of a key.
    fn invalidate(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::key)] key: String,
    ) -> PyResult<bool> {
        self.table.with(py, |table| table.invalidate(&key))
    }

    /// Ends every binding to a worker.
    fn invalidate_worker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<usize> {
        self.table
            .with(py, |table| table.invalidate_worker(worker_id))
    }

    /// Moves the clock and forgets the bindings whose time is up.
    fn advance(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::now_ms)] now_ms: f64,
    ) -> PyResult<usize> {
        self.table
            .with(py, |table| table.advance(now_ms))?
            .raise(py)
    }

    /// When the next idle binding is forgotten.
    fn next_expiry_ms(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.table.with(py, |table| table.next_expiry_ms())
    }

    /// Leases of a key that are not released.
    fn leases(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::key)] key: String,
    ) -> PyResult<u32> {
        self.table.with(py, |table| table.leases(&key))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.table.with(py, |table| table.len())
    }
}
