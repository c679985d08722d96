//! Files to a trace: one loop for every format.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::applied::Applied;
use super::azure::Azure;
use super::builder::Builder;
use super::dynamo::Dynamo;
use super::lines::{Lines, whole};
use super::mooncake::Mooncake;
use super::{Place, Trace};
use crate::config::{TraceConfig, TraceFormat};
use crate::error::{ConfigError, Error, Problem, Result, TraceError};

/// Rows between two calls of the host.
const ROWS_PER_CALL: u64 = 1024;

/// A format that has one request, or a header, on each line.
pub(super) trait Format {
    /// A file begins.
    fn begin_file(&mut self) {}

    /// Reads a line that is not blank.
    fn line(
        &mut self,
        line: &str,
        place: Place,
        builder: &mut Builder,
    ) -> std::result::Result<(), Problem>;
}

fn reader(config: &TraceConfig) -> Box<dyn Format> {
    match config.format {
        TraceFormat::Mooncake => Box::new(Mooncake::new(config.block_size, false)),
        TraceFormat::MooncakeDelta => Box::new(Mooncake::new(config.block_size, true)),
        TraceFormat::AppliedComputeAgentic => Box::new(Applied::new(config.block_size)),
        TraceFormat::Dynamo => Box::new(Dynamo::new(config.block_size)),
        TraceFormat::Azure => Box::new(Azure::new(config.block_size)),
    }
}

/// Reads the files as one trace. A wrong line goes to `wrong`, which decides whether to go on.
pub(super) fn load(
    paths: &[PathBuf],
    config: &TraceConfig,
    watch: &mut dyn FnMut(usize) -> ControlFlow<()>,
    wrong: &mut dyn FnMut(TraceError) -> Result<()>,
) -> Result<Trace> {
    let Some(first) = paths.first() else {
        return Err(ConfigError::new("trace", "no file given", "name at least one file").into());
    };
    let mut format = reader(config);
    let mut builder = Builder::default();
    let mut sources = Vec::new();
    for path in paths {
        let mut lines = Lines::open(path)?;
        format.begin_file();
        let (before, mut clean) = (builder.len(), true);
        while let Some((number, line)) = lines.next()? {
            let place = Place {
                file: sources.len() as u32,
                line: number,
            };
            if let Err(problem) = format.line(line, place, &mut builder) {
                clean = false;
                wrong(lines.problem(problem))?;
            }
            if number.is_multiple_of(ROWS_PER_CALL) && watch(builder.len()).is_break() {
                return Err(Error::Interrupted);
            }
        }
        if clean && builder.len() == before {
            let expected = "at least one request";
            let fix = "check that the file is the trace you meant";
            return Err(whole(path, "holds no requests", expected, fix).into());
        }
        sources.push(lines.finish()?);
    }
    builder.finish(sources).map_err(|problem| {
        TraceError {
            file: first.clone(),
            line: None,
            problem,
        }
        .into()
    })
}
