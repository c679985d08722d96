//! Cache events.

use kv_router::{KvEvent, StoredBlock};
use pyo3::prelude::*;

use crate::args;
use crate::errors::refuse;

/// A chain of blocks was stored.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct Stored {
    parent_hash: Option<u64>,
    blocks: Vec<StoredBlock>,
}

#[pymethods]
impl Stored {
    #[new]
    #[pyo3(signature = (block_hashes, tokens_hashes, parent_hash=None))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = args::block_hashes)] block_hashes: Vec<u64>,
        #[pyo3(from_py_with = args::tokens_hashes)] tokens_hashes: Vec<u64>,
        #[pyo3(from_py_with = args::parent_hash)] parent_hash: Option<u64>,
    ) -> PyResult<Self> {
        if block_hashes.len() != tokens_hashes.len() {
            let shown = format!("{} hashes", tokens_hashes.len());
            let expected = format!("as many as block_hashes, {}", block_hashes.len());
            return Err(refuse(
                py,
                "invalid_value",
                "tokens_hashes",
                shown,
                &expected,
            ));
        }
        let pairs = block_hashes.into_iter().zip(tokens_hashes);
        let blocks = pairs
            .map(|(block_hash, tokens_hash)| StoredBlock {
                block_hash,
                tokens_hash,
            })
            .collect();
        Ok(Self {
            parent_hash,
            blocks,
        })
    }
}

/// Blocks were evicted.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct Removed {
    block_hashes: Vec<u64>,
}

#[pymethods]
impl Removed {
    #[new]
    fn new(#[pyo3(from_py_with = args::block_hashes)] block_hashes: Vec<u64>) -> Self {
        Self { block_hashes }
    }
}

/// A candidate's cache was emptied.
#[pyclass(frozen, module = "kv_router")]
pub(crate) struct Cleared;

#[pymethods]
impl Cleared {
    #[new]
    fn new() -> Self {
        Self
    }
}

/// Any of the events.
pub(crate) enum Event<'a, 'py> {
    Stored(&'a Bound<'py, Stored>),
    Removed(&'a Bound<'py, Removed>),
    Cleared,
}

impl<'a, 'py> Event<'a, 'py> {
    pub(crate) fn of(value: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(event) = value.cast::<Stored>() {
            Ok(Self::Stored(event))
        } else if let Ok(event) = value.cast::<Removed>() {
            Ok(Self::Removed(event))
        } else if value.is_instance_of::<Cleared>() {
            Ok(Self::Cleared)
        } else {
            Err(args::invalid(
                "event",
                value,
                "a Stored, Removed or Cleared",
            ))
        }
    }

    pub(crate) fn native(&self) -> KvEvent<'a> {
        match self {
            Self::Stored(event) => {
                let Stored {
                    parent_hash,
                    blocks,
                } = event.get();
                KvEvent::Stored {
                    parent_hash: *parent_hash,
                    blocks,
                }
            }
            Self::Removed(event) => KvEvent::Removed {
                block_hashes: &event.get().block_hashes,
            },
            Self::Cleared => KvEvent::Cleared,
        }
    }

    /// Number of blocks it is about.
    pub(crate) fn len(&self) -> usize {
        match self.native() {
            KvEvent::Stored { blocks, .. } => blocks.len(),
            KvEvent::Removed { block_hashes } => block_hashes.len(),
            KvEvent::Cleared => usize::MAX,
        }
    }
}
