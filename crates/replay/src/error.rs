//! What can go wrong, and where.

use std::fmt;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a replay did not happen.
#[derive(Debug)]
pub enum Error {
    /// A setting is wrong.
    Config(ConfigError),
    /// A trace file is wrong.
    Trace(TraceError),
    /// A file that cannot be written, and why.
    Output(PathBuf, String),
    /// The host asked to stop.
    Interrupted,
    /// The host's own router failed.
    Host(Box<dyn std::error::Error + Send + Sync>),
    /// The replay broke one of its own invariants.
    Internal(String),
}

/// A setting that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Dotted name of the setting, such as `engine.block_size`.
    pub setting: String,
    /// What is wrong and what was expected.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

/// A place in a trace file that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; `None` when the whole file is meant.
    pub line: Option<u64>,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with one line, without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What was expected instead.
    pub expected: String,
    /// What to do about it.
    pub fix: String,
}

impl Problem {
    pub(crate) fn new(
        what: impl Into<String>,
        expected: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            expected: expected.into(),
            fix: fix.into(),
        }
    }
}

impl ConfigError {
    pub(crate) fn new(
        setting: impl Into<String>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            setting: setting.into(),
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Trace(error) => error.fmt(f),
            Self::Output(path, why) => write!(
                f,
                "{}: cannot be written: {why}\n  fix: check the folder and the free space",
                path.display()
            ),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Host(error) => write!(f, "the router of the host failed: {error}"),
            Self::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  fix: {}", self.setting, self.what, self.fix)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let Problem {
            what,
            expected,
            fix,
        } = &self.problem;
        write!(f, ": {what}; expected {expected}\n  fix: {fix}")
    }
}

impl std::error::Error for Error {}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}
