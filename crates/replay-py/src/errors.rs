//! The exceptions of the package.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;
use replay::Error;

create_exception!(
    replay_sim,
    ReplayError,
    PyException,
    "A replay did not happen."
);
create_exception!(replay_sim, ConfigError, ReplayError, "A setting is wrong.");
create_exception!(
    replay_sim,
    TraceError,
    ReplayError,
    "A trace file is wrong."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ReplayError", py.get_type::<ReplayError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("TraceError", py.get_type::<TraceError>())
}

/// The exception of an error.
pub(crate) fn to_python(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Config(_) => ConfigError::new_err(text),
        Error::Trace(_) => TraceError::new_err(text),
        Error::Host(error) => match error.downcast::<PyErr>() {
            Ok(raised) => *raised,
            Err(_) => ReplayError::new_err(text),
        },
        Error::Output(..) => PyOSError::new_err(text),
        Error::Interrupted | Error::Internal(_) => ReplayError::new_err(text),
    }
}
