//! Python bindings of `replay`.

mod errors;
mod host;
mod run;

use pyo3::prelude::*;

/// Version of this wheel.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Set by the container build; a build from a checkout does not know it.
const REVISION: &str = match option_env!("SOURCE_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

/// The compiled half of the `replay_sim` package.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", VERSION)?;
    module.add("__revision__", REVISION)?;
    errors::register(module)?;
    run::register(module)
}
