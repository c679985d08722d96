//! Replay of inference traces against simulated workers behind the KV router.
//!
//! [`Trace::load`] reads what arrives when, [`ReplayConfig`] says what serves it, [`replay`] runs
//! it in simulated time, and [`Report`] measures what came out. Everything is deterministic: the
//! same trace and configuration give the same bytes.

pub mod config;
pub mod engine;
mod error;
pub mod ledger;
pub mod report;
pub mod router;
mod sim;
pub mod time;
pub mod trace;

pub use config::ReplayConfig;
pub use error::{ConfigError, Error, Problem, Result, TraceError};
pub use report::Report;
pub use sim::{Outcome, Progress, replay, replay_behind};
pub use trace::Trace;
