//! Objects that stay on the thread that made them.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use pyo3::prelude::*;

use crate::errors::refuse;

/// Work on more items than this lets other Python threads run meanwhile.
const LONG_WORK: usize = 256;

/// A value that only its own thread may use; others are told so.
pub(crate) struct Affine<T> {
    owner: ThreadId,
    value: Mutex<T>,
}

impl<T: Send> Affine<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            owner: thread::current().id(),
            value: Mutex::new(value),
        }
    }

    /// Uses the value for something short.
    pub(crate) fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        if thread::current().id() != self.owner {
            return Err(refuse(
                py,
                "wrong_thread",
                "thread",
                "another thread",
                "the thread that created the object: it is bound to it",
            ));
        }
        // Only this thread locks it, and a panic in it has already been raised.
        Ok(work(
            &mut self.value.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// Uses the value for work in proportion to `items`, without the GIL when that is long.
    pub(crate) fn with_items<R: Send>(
        &self,
        py: Python<'_>,
        items: usize,
        work: impl FnOnce(&mut T) -> R + Send,
    ) -> PyResult<R> {
        self.with(py, |value| {
            if items > LONG_WORK {
                py.detach(|| work(value))
            } else {
                work(value)
            }
        })
    }
}
