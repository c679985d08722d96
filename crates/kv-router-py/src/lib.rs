//! Python bindings of `kv-router`.

mod affine;
mod affinity;
mod args;
mod config;
mod errors;
mod events;
mod hashes;
mod outcome;
mod request;
mod router;
mod scheduler;
mod tree;

use pyo3::prelude::*;

/// The compiled half of the `kv_router` package.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // Set by the container build; a build from a checkout does not know it.
    module.add(
        "__revision__",
        option_env!("SOURCE_REVISION").unwrap_or("unknown"),
    )?;
    module.add_function(wrap_pyfunction!(hashes::block_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(hashes::sequence_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(affinity::affinity_key, module)?)?;
    module.add_class::<affinity::Hold>()?;
    module.add_class::<affinity::Lease>()?;
    module.add_class::<affinity::SessionAffinity>()?;
    module.add_class::<events::Stored>()?;
    module.add_class::<events::Removed>()?;
    module.add_class::<events::Cleared>()?;
    module.add_class::<outcome::CandidateLoad>()?;
    module.add_class::<outcome::Decision>()?;
    module.add_class::<outcome::IndexCounters>()?;
    module.add_class::<outcome::Placed>()?;
    module.add_class::<outcome::PotentialLoad>()?;
    module.add_class::<request::Request>()?;
    module.add_class::<router::OfflineRouter>()?;
    module.add_class::<scheduler::LocalScheduler>()?;
    module.add_class::<tree::Matches>()?;
    module.add_class::<tree::RadixTree>()?;
    Ok(())
}
