//! The prefix index.

use kv_router::{Candidate, OwnedBlock};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::affine::Affine;
use crate::args;
use crate::config::list;
use crate::errors::Raise;
use crate::events::Event;
use crate::outcome::IndexCounters;

type Row = (u32, u32, u64, u64);

/// What `find_matches` found.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct Matches {
    found: Vec<(Candidate, u32)>,
}

#[pymethods]
impl Matches {
    /// Consecutive blocks by (worker id, dp rank), sorted; zeros left out.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scores = PyDict::new(py);
        for (candidate, blocks) in &self.found {
            scores.set_item((candidate.worker_id, candidate.dp_rank), blocks)?;
        }
        Ok(scores)
    }

    /// The most blocks that any candidate holds.
    #[getter]
    fn best(&self) -> u32 {
        self.found
            .iter()
            .map(|(_, blocks)| *blocks)
            .max()
            .unwrap_or(0)
    }

    /// Blocks that one candidate holds.
    fn of(
        &self,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::dp_rank)] dp_rank: u32,
    ) -> u32 {
        let wanted = Candidate::new(worker_id, dp_rank);
        self.found
            .iter()
            .find(|(id, _)| *id == wanted)
            .map_or(0, |(_, blocks)| *blocks)
    }

    fn __len__(&self) -> usize {
        self.found.len()
    }
}

/// Which candidate holds which block.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct RadixTree {
    tree: Affine<kv_router::RadixTree>,
}

#[pymethods]
impl RadixTree {
    #[new]
    fn new() -> Self {
        Self {
            tree: Affine::new(kv_router::RadixTree::new()),
        }
    }

    /// The index that `dump` gave these rows of.
    #[staticmethod]
    fn restore(py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let expected = "rows (worker_id, dp_rank, block_hash, sequence_hash)";
        let rows: Vec<OwnedBlock> = list("rows", rows, |row| {
            let wrong = |_| args::invalid("rows", row, expected);
            let (worker, rank, block_hash, sequence_hash) = row.extract::<Row>().map_err(wrong)?;
            Ok(OwnedBlock {
                source: Candidate::new(worker, rank),
                block_hash,
                sequence_hash,
            })
        })?;
        Ok(Self {
            tree: Affine::new(py.detach(|| kv_router::RadixTree::restore(&rows))),
        })
    }

    /// Applies one event of a candidate.
    fn apply(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::dp_rank)] dp_rank: u32,
        event: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let event = Event::of(event)?;
        let (source, native) = (Candidate::new(worker_id, dp_rank), event.native());
        self.tree
            .with_items(py, event.len(), |tree| tree.apply(source, native))?
            .raise(py)
    }

    /// Finds how many consecutive blocks from the start each candidate holds.
    #[pyo3(signature = (sequence_hashes, early_exit=false))]
    fn find_matches(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::sequence_hashes)] sequence_hashes: Vec<u64>,
        early_exit: bool,
    ) -> PyResult<Matches> {
        self.tree.with_items(py, sequence_hashes.len(), |tree| {
            let mut found = Vec::new();
            tree.find_matches(&sequence_hashes, early_exit, &mut found);
            Matches { found }
        })
    }

    /// Forgets all ranks of a worker.
    fn remove_worker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
    ) -> PyResult<()> {
        self.tree
            .with_items(py, usize::MAX, |tree| tree.remove_worker(worker_id))
    }

    /// Every held block, sorted.
    fn dump(&self, py: Python<'_>) -> PyResult<Vec<Row>> {
        let rows = self.tree.with_items(py, usize::MAX, |tree| tree.dump())?;
        let row = |row: OwnedBlock| {
            let OwnedBlock {
                source,
                block_hash,
                sequence_hash,
            } = row;
            (source.worker_id, source.dp_rank, block_hash, sequence_hash)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Distinct blocks of one candidate.
    fn blocks_of(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::worker_id)] worker_id: u32,
        #[pyo3(from_py_with = args::dp_rank)] dp_rank: u32,
    ) -> PyResult<usize> {
        self.tree.with(py, |tree| {
            tree.blocks_of(Candidate::new(worker_id, dp_rank))
        })
    }

    /// Candidates that sent an event and were not removed.
    fn sources(&self, py: Python<'_>) -> PyResult<Vec<(u32, u32)>> {
        let sources = self.tree.with(py, |tree| tree.sources())?;
        Ok(sources
            .into_iter()
            .map(|source| (source.worker_id, source.dp_rank))
            .collect())
    }

    /// What events did so far.
    fn counters(&self, py: Python<'_>) -> PyResult<IndexCounters> {
        self.tree.with(py, |tree| tree.counters().into())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.tree.with(py, |tree| tree.len())
    }
}
