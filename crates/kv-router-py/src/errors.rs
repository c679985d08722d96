//! The Python exceptions, which are classes of `kv_router.errors`.

use std::fmt::Display;

use kv_router::RouterError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static REFUSAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for a refused call.
pub(crate) fn refuse(
    py: Python<'_>,
    kind: &str,
    field: &str,
    value: impl Display,
    expected: &str,
) -> PyErr {
    let make = || {
        let refusal = REFUSAL.get_or_try_init(py, || {
            PyResult::Ok(py.import("kv_router.errors")?.getattr("refusal")?.unbind())
        })?;
        refusal
            .bind(py)
            .call1((kind, field, value.to_string(), expected))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// Results of the router as results of Python.
pub(crate) trait Raise<T> {
    /// Turns a refusal into an exception.
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for Result<T, RouterError> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| {
            refuse(
                py,
                error.kind().as_str(),
                error.field(),
                error.value(),
                error.expected(),
            )
        })
    }
}
