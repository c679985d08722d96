//! What came out of a replay: figures, and a line for each request.

mod distribution;
mod rows;
mod summary;

pub use distribution::{Distribution, STATISTICS};
pub use summary::{Figure, Summary};

use std::io::{self, Write};

use serde::Serialize;

use crate::config::ReplayConfig;
use crate::ledger::Ledger;
use crate::sim::Outcome;
use crate::trace::{Trace, Warning};

/// Name of the report's schema; it changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "replay-sim/report/v1";

/// The program that made a report.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tool {
    /// Name of the program.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The source revision it was built from.
    pub source_revision: &'static str,
}

/// The result of a replay.
#[derive(Debug)]
pub struct Report {
    tool: Tool,
    trace: Trace,
    config: ReplayConfig,
    summary: Summary,
    ledger: Ledger,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: Tool,
    configuration: &'a ReplayConfig,
    trace: TraceDocument<'a>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct TraceDocument<'a> {
    sha256: Vec<&'a str>,
    requests: usize,
    named_sessions: usize,
    distinct_blocks: usize,
    warnings: Vec<WarningDocument<'a>>,
}

#[derive(Serialize)]
struct WarningDocument<'a> {
    code: &'a str,
    count: u64,
    file: u32,
    line: u64,
    message: &'a str,
}

impl Report {
    /// Measures an outcome.
    pub fn new(tool: Tool, mut trace: Trace, config: ReplayConfig, mut outcome: Outcome) -> Self {
        if let Some(place) = trace.first_hint
            && config.router.queue_threshold.is_none()
        {
            let what = "priorities have no effect: without router.queue_threshold nothing queues";
            let (what, count) = (what.to_string(), trace.hints.len() as u64);
            trace.warnings.push(Warning {
                code: "unused-priority",
                place,
                what,
                count,
            });
        }
        let summary = Summary::new(&trace, &config, &mut outcome);
        Self {
            tool,
            trace,
            config,
            summary,
            ledger: outcome.ledger,
        }
    }

    /// The figures.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The trace that was replayed.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What happened to each request.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The report as JSON. The same trace, configuration and tool give the same bytes: it holds
    /// neither host time nor paths.
    pub fn to_json(&self) -> String {
        let warnings = self.trace.warnings.iter().map(|warning| WarningDocument {
            code: warning.code,
            count: warning.count,
            file: warning.place.file,
            line: warning.place.line,
            message: &warning.what,
        });
        let document = Document {
            schema: SCHEMA,
            tool: self.tool,
            configuration: &self.config,
            trace: TraceDocument {
                sha256: self
                    .trace
                    .sources
                    .iter()
                    .map(|source| source.sha256.as_str())
                    .collect(),
                requests: self.trace.requests.len(),
                named_sessions: self.trace.session_ids.len(),
                distinct_blocks: self.trace.prefixes.len(),
                warnings: warnings.collect(),
            },
            summary: &self.summary,
        };
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Writes one JSON object a line for every request that ended, in the order of the trace.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_requests(&self, out: &mut dyn Write) -> io::Result<()> {
        rows::write(&self.trace, &self.config, &self.ledger, out)
    }
}
