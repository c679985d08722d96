//! Hash functions.

use pyo3::prelude::*;

use crate::args;
use crate::errors::refuse;

/// Hash of each complete block of tokens.
#[pyfunction]
#[pyo3(signature = (tokens, block_size, salt=None, *, eagle=false))]
pub(crate) fn block_hashes(
    py: Python<'_>,
    #[pyo3(from_py_with = args::tokens)] tokens: Vec<u32>,
    #[pyo3(from_py_with = args::block_size)] block_size: usize,
    #[pyo3(from_py_with = args::salt)] salt: Option<String>,
    #[pyo3(from_py_with = args::eagle)] eagle: bool,
) -> PyResult<Vec<u64>> {
    if block_size == 0 {
        return Err(refuse(
            py,
            "invalid_value",
            "block_size",
            0,
            "an integer >= 1",
        ));
    }
    let hash = if eagle {
        kv_router::eagle_block_hashes
    } else {
        kv_router::block_hashes
    };
    Ok(py.detach(|| hash(&tokens, block_size, salt.as_deref())))
}

/// Chained hash of each block and everything before it.
#[pyfunction]
pub(crate) fn sequence_hashes(
    py: Python<'_>,
    #[pyo3(from_py_with = args::block_hashes)] block_hashes: Vec<u64>,
) -> Vec<u64> {
    py.detach(|| kv_router::sequence_hashes(&block_hashes))
}
