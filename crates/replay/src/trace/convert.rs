//! A trace as a file of another format, if nothing is lost.
//!
//! What would be lost is not looked up in a table: the file is read back and compared.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::lines::whole;
use super::write::write;
use super::{Trace, Warning};
use crate::config::{TraceConfig, TraceFormat};
use crate::error::{Error, Result};

/// Warnings about what the loader leaves out.
const LEFT_OUT: [&str; 3] = ["unknown-field", "unused-field", "surplus-hash-ids"];

impl Trace {
    /// Writes the trace to `path` as a file of the format, blocks as large as they are.
    ///
    /// Arrivals count from the first one, and hash ids are numbered in order of first appearance;
    /// a replay of the file is the replay of the trace.
    ///
    /// # Errors
    /// A field that would be lost, by name; [`Error::Output`]; [`Error::Interrupted`] when `watch`
    /// broke. Remove the file then.
    pub fn convert(
        &self,
        format: TraceFormat,
        path: &Path,
        watch: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<()> {
        if let Some(warning) = self.left_out() {
            return Err(self.lost(format, &warning.what));
        }
        let failed = |error: io::Error| Error::Output(path.to_path_buf(), error.to_string());
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        match write(self, format, &mut out) {
            Ok(()) => out.flush().map_err(failed)?,
            Err(Unwritten::Lost(what)) => return Err(self.lost(format, &what)),
            Err(Unwritten::Failed(error)) => return Err(failed(error)),
        }
        let config = TraceConfig {
            format,
            block_size: self.block_size,
        };
        let paths: [PathBuf; 1] = [path.to_path_buf()];
        let again = Self::load(&paths, &config, watch).map_err(|error| match error {
            Error::Trace(error) => self.lost(format, &error.problem.what),
            error => error,
        })?;
        match self.difference(&again) {
            Some(what) => Err(self.lost(format, &what)),
            None => Ok(()),
        }
    }

    fn left_out(&self) -> Option<&Warning> {
        let mut warnings = self.warnings.iter();
        warnings.find(|warning| LEFT_OUT.contains(&warning.code))
    }

    fn lost(&self, format: TraceFormat, what: &str) -> Error {
        let path = self.sources.first().map(|source| source.path.as_path());
        whole(
            path.unwrap_or(Path::new("trace")),
            format!("cannot be converted to {format} without loss: {what}"),
            "a format that holds all of the trace",
            "choose another format, or remove from the trace what may be lost",
        )
        .into()
    }

    /// The first field in which another trace differs, and where.
    fn difference(&self, other: &Self) -> Option<String> {
        if self.requests.len() != other.requests.len() {
            return Some("requests are of another number".to_string());
        }
        let field = |request: usize| {
            let (mine, theirs) = (&self.requests[request], &other.requests[request]);
            let number = request as u32;
            if self.session_name(number) != other.session_name(number) || mine.turn != theirs.turn {
                Some("session_id")
            } else if self.request_name(number) != other.request_name(number) {
                Some("request_id")
            } else if mine.at != theirs.at {
                Some("timestamp")
            } else if mine.delay != theirs.delay {
                Some("delay")
            } else if mine.input != theirs.input {
                Some("input_length")
            } else if mine.output != theirs.output {
                Some("output_length")
            } else if self.hints.get(&number) != other.hints.get(&number) {
                Some("priority")
            } else if (mine.leaf, mine.tail) != (theirs.leaf, theirs.tail) {
                Some("hash_ids")
            } else {
                None
            }
        };
        let found = (0..self.requests.len()).find_map(|at| field(at).map(|field| (at, field)));
        if let Some((at, field)) = found {
            return Some(format!("{field} of {}", self.request_name(at as u32)));
        }
        (self.prefixes != other.prefixes)
            .then(|| "hash_ids, which name shared prefixes".to_string())
    }
}

/// Why a trace was not written.
pub(super) enum Unwritten {
    /// The format has no place for something.
    Lost(String),
    /// The file could not be written.
    Failed(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<serde_json::Error> for Unwritten {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}
