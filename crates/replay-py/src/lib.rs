//! Python bindings of `replay`.

use pyo3::prelude::*;

/// The compiled half of the `replay_sim` package.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // Set by the container build; a build from a checkout does not know it.
    module.add("__revision__", option_env!("SOURCE_REVISION").unwrap_or("unknown"))
}
