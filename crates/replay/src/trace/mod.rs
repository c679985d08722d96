//! Traces: what arrives when, and which prompts share a prefix.

mod applied;
mod azure;
mod blocks;
mod builder;
mod convert;
mod dynamo;
mod inspect;
mod lines;
mod load;
mod mooncake;
mod prefix;
mod row;
pub mod sample;
mod value;
mod write;
mod zstd;

pub use inspect::Inspection;
#[cfg(test)]
pub(crate) use prefix::Interner;
pub use prefix::PrefixTree;

use std::ops::ControlFlow;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use crate::config::TraceConfig;
use crate::error::{Result, TraceError};
use crate::time::Nanos;

/// Longest prompt and longest output that a trace may ask for, tokens.
pub const MAX_TOKENS: u32 = 1_000_000_000;

/// One request of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// When the request arrives, from the first one on; means something for first turns only.
    pub at: Nanos,
    /// How long after the end of the previous turn it arrives; means something for later turns.
    pub delay: Nanos,
    /// Prompt length, tokens.
    pub input: u32,
    /// Output length, tokens.
    pub output: u32,
    /// Last segment of the prompt in the tree of prefixes.
    pub leaf: u32,
    /// Segment of the output, if a later prompt holds it.
    pub tail: Option<u32>,
    /// Turn of its session, from 0.
    pub turn: u32,
    /// The next turn of the session.
    pub next_turn: Option<u32>,
    /// Index into [`Trace::session_ids`]; `None` = a session of its own without a name.
    pub session: Option<u32>,
}

/// What a request asks of a router's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hints {
    /// By how much it jumps ahead: seconds, or a weight, as the queue policy has it; >= 0.
    pub priority_jump: f64,
    /// Higher goes first, whatever the policy says.
    pub strict_priority: i32,
}

/// A line of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, counted from 0.
    pub file: u32,
    /// The line, counted from 1.
    pub line: u64,
}

/// Something odd that stops nothing, the first time it was seen and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable name of the kind.
    pub code: &'static str,
    /// The first case.
    pub place: Place,
    /// What was seen, and what the loader did about it.
    pub what: String,
    /// Number of cases.
    pub count: u64,
}

/// A file of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// SHA-256 of its bytes, lower-case hex.
    pub sha256: String,
}

/// A whole trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// The requests in file order.
    pub requests: Vec<TraceRequest>,
    /// Names of requests, each one once; empty when the trace gives none.
    pub request_ids: Vec<Option<Box<str>>>,
    /// Names of sessions.
    pub session_ids: Vec<Box<str>>,
    /// Tokens of a hash id.
    pub block_size: u32,
    /// The prompts.
    pub prefixes: PrefixTree,
    /// Of the requests that have any.
    pub hints: FxHashMap<u32, Hints>,
    /// Where the first of them is.
    pub first_hint: Option<Place>,
    /// What was odd.
    pub warnings: Vec<Warning>,
    /// Where it came from.
    pub sources: Vec<Source>,
}

impl Trace {
    /// Reads the files, one after the other, as one trace.
    ///
    /// `watch` is called now and then with the number of requests read; when it breaks, reading
    /// ends.
    ///
    /// # Errors
    /// The first line that is wrong; [`crate::Error::Interrupted`] when `watch` broke.
    pub fn load(
        paths: &[PathBuf],
        config: &TraceConfig,
        watch: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Self> {
        load::load(paths, config, watch, &mut |error| Err(error.into()))
    }

    /// Reads the files as [`Trace::load`] does, but goes on after a wrong line. Returns the trace
    /// of the other lines, the first `limit` wrong lines, and how many there are.
    ///
    /// # Errors
    /// A file that cannot be read; [`crate::Error::Interrupted`] when `watch` broke.
    pub fn validate(
        paths: &[PathBuf],
        config: &TraceConfig,
        limit: usize,
        watch: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(Self, Vec<TraceError>, u64)> {
        let (mut shown, mut count) = (Vec::new(), 0);
        let trace = load::load(paths, config, watch, &mut |error| {
            count += 1;
            if shown.len() < limit {
                shown.push(error);
            }
            Ok(())
        })?;
        Ok((trace, shown, count))
    }

    /// Name of a request's session, if it has one.
    pub fn session_name(&self, request: u32) -> Option<&str> {
        let session = self.requests[request as usize].session?;
        Some(&self.session_ids[session as usize])
    }

    /// Name of a request: the trace's own, or its number from 1.
    pub fn request_name(&self, request: u32) -> String {
        match self.request_ids.get(request as usize) {
            Some(Some(name)) => name.to_string(),
            _ => numbered(request),
        }
    }
}

/// Name of a request that the trace gives none.
fn numbered(request: u32) -> String {
    format!("request_{}", request + 1)
}
