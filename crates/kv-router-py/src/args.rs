//! Arguments: whatever cannot be used is refused by name.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde::de::DeserializeOwned;

use crate::errors::refuse;

/// The refusal of `value` for `field`.
pub(crate) fn invalid(field: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = value
        .repr()
        .map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
    let shown = if shown.len() > 200 {
        "a long value".to_owned()
    } else {
        shown
    };
    refuse(value.py(), "invalid_value", field, shown, expected)
}

/// Types that can be read from Python, with what to say when they cannot.
pub(crate) trait Readable: for<'a, 'py> FromPyObject<'a, 'py> {
    /// What the value should have been.
    const EXPECTED: &'static str;
}

macro_rules! readable {
    ($($kind:ty: $expected:literal),* $(,)?) => {
        $(impl Readable for $kind { const EXPECTED: &'static str = $expected; })*
    };
}

readable! {
    u64: "an integer from 0 to 2^64 - 1",
    u32: "an integer from 0 to 2^32 - 1",
    usize: "an integer >= 0",
    i32: "an integer of 32 bits",
    f64: "a number",
    bool: "True or False",
    String: "a string",
    Vec<String>: "a list of strings",
    Vec<u32>: "a list of integers from 0 to 2^32 - 1",
    (u32, u32): "a pair (worker_id, dp_rank) of integers >= 0",
}

/// Reads a value.
pub(crate) fn read<T: Readable>(field: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    value
        .extract()
        .map_err(|_| invalid(field, value, T::EXPECTED))
}

/// Reads a value that may be `None`.
pub(crate) fn read_opt<T: Readable>(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<T>> {
    if value.is_none() {
        return Ok(None);
    }
    let expected = format!("{}, or None", T::EXPECTED);
    value
        .extract()
        .map(Some)
        .map_err(|_| invalid(field, value, &expected))
}

/// Reads one of a few words.
pub(crate) fn read_choice<T: DeserializeOwned>(
    field: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<T> {
    let text: String = read(field, value)?;
    serde_json::from_value(serde_json::Value::String(text)).map_err(|error| {
        // "unknown variant `x`, expected `y` or `z`": the value is shown already.
        let text = error.to_string();
        invalid(
            field,
            value,
            text.split_once("expected ")
                .map_or(text.as_str(), |(_, right)| right),
        )
    })
}

macro_rules! arguments {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(pub(crate) fn $name(value: &Bound<'_, PyAny>) -> PyResult<$kind> {
            read(stringify!($name), value)
        })*
    };
}

arguments! {
    now_ms: f64,
    request_id: u64,
    worker_id: u32,
    dp_rank: u32,
    overloaded: bool,
    eagle: bool,
    block_size: usize,
    key: String,
    isl_tokens: u32,
    cached_tokens: u32,
    priority_jump: f64,
    strict_priority: i32,
    shared_cache_blocks: u32,
    text: String,
}

/// A fraction that may be `None`.
pub(crate) fn decay_fraction(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    read_opt("decay_fraction", value)
}

/// An attempt that may be `None`.
pub(crate) fn attempt(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    read_opt("attempt", value)
}

/// A block hash that may be `None`.
pub(crate) fn parent_hash(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    read_opt("parent_hash", value)
}

/// A salt that may be `None`.
pub(crate) fn salt(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    read_opt("salt", value)
}

/// The items of a list whose items are all Python integers in range; `None` when one is not.
///
/// Most hashes need three digits of a Python integer, which the general extraction reads the long
/// way, through bytes.
#[expect(
    unsafe_code,
    reason = "the safe calls make and count a reference per item, which takes longer than reading it"
)]
fn words<T: TryFrom<usize>>(list: &Bound<'_, PyList>) -> Option<Vec<T>> {
    let mut items = Vec::with_capacity(list.len());
    for index in 0..list.len() {
        // SAFETY: the interpreter is attached. The borrowed item lives until the list changes, and
        // nothing here can change it: reading a word of an `int` runs no Python code, and what is
        // no `int`, or null, is refused.
        let word = unsafe {
            let item = ffi::PyList_GetItem(list.as_ptr(), index as ffi::Py_ssize_t);
            ffi::PyLong_AsSize_t(item)
        };
        if word == usize::MAX && PyErr::take(list.py()).is_some() {
            return None;
        }
        items.push(T::try_from(word).ok()?);
    }
    Some(items)
}

/// Reads unsigned integers from a one-dimensional buffer (NumPy, `array`, `memoryview`) in one
/// copy, whatever its integer type, or from a sequence.
fn integers<T>(field: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyResult<Vec<T>>
where
    T: Element + TryFrom<usize> + TryFrom<u32> + TryFrom<i32> + TryFrom<u64> + TryFrom<i64>,
    Vec<T>: for<'a, 'py> FromPyObject<'a, 'py>,
{
    fn convert<S, T>(value: &Bound<'_, PyAny>) -> Option<Option<Vec<T>>>
    where
        S: Element,
        T: TryFrom<S>,
    {
        let buffer = PyBuffer::<S>::get(value).ok()?;
        if buffer.dimensions() != 1 {
            return Some(None);
        }
        let items = buffer.to_vec(value.py()).ok()?;
        Some(
            items
                .into_iter()
                .map(|item| T::try_from(item).ok())
                .collect(),
        )
    }
    let wrong = || invalid(field, value, expected);
    if let Ok(list) = value.cast::<PyList>() {
        return match words(list) {
            Some(items) => Ok(items),
            None => value.extract().map_err(|_| wrong()),
        };
    }
    if let Ok(buffer) = PyBuffer::<T>::get(value) {
        return if buffer.dimensions() == 1 {
            buffer.to_vec(value.py())
        } else {
            Err(wrong())
        };
    }
    let converted = convert::<i64, T>(value)
        .or_else(|| convert::<u64, T>(value))
        .or_else(|| convert::<i32, T>(value))
        .or_else(|| convert::<u32, T>(value));
    match converted {
        Some(items) => items.ok_or_else(wrong),
        None => value.extract().map_err(|_| wrong()),
    }
}

/// Reads block or sequence hashes.
pub(crate) fn hashes(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    integers(field, value, "one dimension of integers from 0 to 2^64 - 1")
}

/// Reads token ids.
pub(crate) fn tokens(value: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    integers(
        "tokens",
        value,
        "one dimension of token ids from 0 to 2^32 - 1",
    )
}

pub(crate) fn block_hashes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    hashes("block_hashes", value)
}

pub(crate) fn tokens_hashes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    hashes("tokens_hashes", value)
}

pub(crate) fn sequence_hashes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    hashes("sequence_hashes", value)
}
