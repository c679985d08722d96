//! The settings of a replay: one document, every default explicit.

mod engine;
mod router;

pub use engine::{Backend, EngineConfig};
pub use router::{RouterPolicy, RouterSettings};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::time::MAX_MS;

/// Everything that decides a replay, apart from the trace itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// How to read the trace.
    pub trace: TraceConfig,
    /// When requests arrive.
    pub load: LoadConfig,
    /// The workers.
    pub cluster: ClusterConfig,
    /// The engine of every worker.
    pub engine: EngineConfig,
    /// How requests are placed.
    pub router: RouterSettings,
    /// When the replay ends before the trace does.
    pub stop: StopConfig,
    /// What counts as a good request.
    pub sla: SlaConfig,
    /// Seed of every random draw.
    pub seed: u64,
}

/// The formats that the loader reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// JSON Lines with block hash ids.
    #[default]
    Mooncake,
    /// The same, where a later turn gives only what it adds to the turn before and its output.
    #[serde(alias = "mooncake_delta")]
    MooncakeDelta,
    /// CSV with arrival, prompt length and output length; no prompts share a prefix.
    Azure,
    /// JSON Lines, a conversation with tool calls on each; has no time stamps.
    #[serde(alias = "applied_compute_agentic")]
    AppliedComputeAgentic,
    /// JSON Lines, the request trace of a Dynamo frontend.
    Dynamo,
}

impl TraceFormat {
    /// Whether the files say how many tokens a hash id stands for.
    fn says_block_size(self) -> bool {
        self == Self::Dynamo
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Tokens of a hash id unless something else is said.
pub(crate) const DEFAULT_TRACE_BLOCK: u32 = 512;

/// How to read the trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// Format of the files.
    pub format: TraceFormat,
    /// Tokens that one hash id of the trace stands for. What a file says itself counts; anything
    /// but the default must agree with it.
    pub block_size: u32,
}

impl Default for TraceConfig {
    fn default() -> Self {
        Self {
            format: TraceFormat::Mooncake,
            block_size: DEFAULT_TRACE_BLOCK,
        }
    }
}

/// When requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadConfig {
    /// Divides the time stamps and the delays of the trace.
    pub speedup: f64,
    /// Sessions in flight: they start as slots get free, and time stamps are ignored.
    /// `None` = they start at their time stamps.
    pub concurrency: Option<u32>,
}

impl Default for LoadConfig {
    fn default() -> Self {
        Self {
            speedup: 1.0,
            concurrency: None,
        }
    }
}

/// The workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterConfig {
    /// Workers that each do prefill and decode.
    pub workers: u32,
    /// Data-parallel ranks of each worker. Each rank has an engine and a cache of its own; the
    /// ranks of a worker step together, at the pace of the slowest.
    pub dp_size: u32,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self {
            workers: 1,
            dp_size: 1,
        }
    }
}

/// When the replay ends before the trace does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StopConfig {
    /// Simulated time after which nothing is counted any more, ms.
    pub max_sim_time_ms: Option<f64>,
}

/// What counts as a good request; without bounds there is no goodput.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlaConfig {
    /// Longest acceptable time to the first token, ms.
    pub ttft_ms: Option<f64>,
    /// Longest acceptable mean time between the tokens of a request, ms.
    pub itl_ms: Option<f64>,
}

impl ReplayConfig {
    /// Reads a configuration document.
    ///
    /// # Errors
    /// An unknown key, a wrong type, or a value that [`ReplayConfig::check`] refuses.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let config: Self = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| unreadable(&error.path().to_string(), error.inner()))?;
        json.end().map_err(|error| unreadable(".", &error))?;
        config.check()?;
        Ok(config)
    }

    /// Refuses what no replay could run with.
    ///
    /// # Errors
    /// The first setting that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        at_least_one("trace.block_size", self.trace.block_size)?;
        self.engine.check()?;
        self.router.check()?;
        if !self.trace.format.says_block_size()
            && !self.trace.block_size.is_multiple_of(self.engine.block_size)
        {
            return Err(ConfigError::new(
                "engine.block_size",
                format!(
                    "{} does not divide trace.block_size {}",
                    self.engine.block_size, self.trace.block_size
                ),
                format!(
                    "use --block-size {}, or the block size the trace was recorded with as \
                     --trace-block-size",
                    greatest_common_divisor(self.trace.block_size, self.engine.block_size)
                ),
            ));
        }
        if self.cluster.workers == 0 {
            return Err(ConfigError::new(
                "cluster.workers",
                "0 workers can never serve a request",
                "give --workers at least 1",
            ));
        }
        at_least_one("cluster.dp_size", self.cluster.dp_size)?;
        positive("load.speedup", self.load.speedup)?;
        if self.load.concurrency == Some(0) {
            return Err(ConfigError::new(
                "load.concurrency",
                "with 0 sessions in flight nothing ever starts",
                "give --concurrency at least 1, or leave it out",
            ));
        }
        bounded_ms("stop.max_sim_time_ms", self.stop.max_sim_time_ms)?;
        bounded_ms("sla.ttft_ms", self.sla.ttft_ms)?;
        bounded_ms("sla.itl_ms", self.sla.itl_ms)
    }
}

impl ReplayConfig {
    /// Refuses a load that the trace cannot give; a trace can be inspected without one.
    pub(crate) fn check_load(&self) -> Result<(), ConfigError> {
        let timeless = self.trace.format == TraceFormat::AppliedComputeAgentic;
        if timeless && self.load.concurrency.is_none() {
            return Err(ConfigError::new(
                "load.concurrency",
                "conversations of applied-compute-agentic have no time stamps to start at",
                "give --concurrency, the conversations in flight",
            ));
        }
        Ok(())
    }
}

fn unreadable(path: &str, error: &serde_json::Error) -> ConfigError {
    let setting = if path == "." { "configuration" } else { path };
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = error.to_string().replace(&place, "");
    ConfigError::new(setting, what, "see docs/replay.md for the settings")
}

pub(crate) fn at_least_one(setting: &str, value: u32) -> Result<(), ConfigError> {
    if value > 0 {
        return Ok(());
    }
    Err(ConfigError::new(
        setting,
        "0 is too small",
        "give a whole number, at least 1",
    ))
}

pub(crate) fn positive(setting: &str, value: f64) -> Result<(), ConfigError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    let what = format!("{value} is not a positive finite number");
    Err(ConfigError::new(
        setting,
        what,
        "give a number greater than 0",
    ))
}

fn bounded_ms(setting: &str, value: Option<f64>) -> Result<(), ConfigError> {
    match value {
        Some(ms) if !(ms > 0.0 && ms <= MAX_MS) => Err(ConfigError::new(
            setting,
            format!("{ms} is not a time"),
            format!("give milliseconds, greater than 0 and at most {MAX_MS} (100 days)"),
        )),
        _ => Ok(()),
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> ConfigError {
        ReplayConfig::from_json(text).expect_err(text)
    }

    #[test]
    fn the_empty_document_is_every_default() {
        let config = ReplayConfig::from_json("{}").unwrap();
        assert_eq!(config, ReplayConfig::default());
        assert_eq!(
            (config.trace.block_size, config.engine.block_size),
            (512, 64)
        );
        assert_eq!(
            (
                config.engine.max_num_seqs,
                config.engine.max_num_batched_tokens
            ),
            (256, 8192)
        );
    }

    #[test]
    fn a_resolved_document_reads_back_as_itself() {
        let config = ReplayConfig::from_json(
            r#"{"engine": {"timing": {"type": "fixed", "prefill_ms": 10, "decode_ms": 1}},
                "load": {"speedup": 2.5, "concurrency": 3}, "sla": {"ttft_ms": 200}, "seed": 7}"#,
        )
        .unwrap();
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(ReplayConfig::from_json(&text).unwrap(), config);
    }

    #[test]
    fn wrong_settings_are_named() {
        for (text, setting) in [
            (r#"{"engine": {"block_size": 48}}"#, "engine.block_size"),
            (r#"{"engine": {"block_size": 0}}"#, "engine.block_size"),
            (
                r#"{"engine": {"decode_speedup_ratio": 0}}"#,
                "engine.decode_speedup_ratio",
            ),
            (r#"{"cluster": {"workers": 0}}"#, "cluster.workers"),
            (r#"{"cluster": {"dp_size": 0}}"#, "cluster.dp_size"),
            (r#"{"load": {"speedup": 0}}"#, "load.speedup"),
            (r#"{"load": {"concurrency": 0}}"#, "load.concurrency"),
            (
                r#"{"stop": {"max_sim_time_ms": -1}}"#,
                "stop.max_sim_time_ms",
            ),
            (r#"{"sla": {"ttft_ms": 0}}"#, "sla.ttft_ms"),
            (r#"{"sla": {"itl_ms": 1e300}}"#, "sla.itl_ms"),
        ] {
            assert_eq!(refused(text).setting, setting, "{text}");
        }
    }

    #[test]
    fn the_block_size_error_says_what_fits() {
        let error = refused(r#"{"engine": {"block_size": 48}, "trace": {"block_size": 512}}"#);
        assert_eq!(error.what, "48 does not divide trace.block_size 512");
        assert!(error.fix.contains("--block-size 16"), "{}", error.fix);
    }

    #[test]
    fn what_the_engine_does_not_model_is_refused() {
        for (key, value) in [
            ("backend", r#""sglang""#),
            ("backend", r#""trtllm""#),
            ("preemption_mode", r#""fifo""#),
            ("prefill_schedule_interval", "2"),
            ("prefill_decode_interval", "2"),
            ("aic_nextn", "2"),
        ] {
            let text = format!(r#"{{"engine": {{"{key}": {value}}}}}"#);
            let error = refused(&text);
            assert!(error.setting.contains(key), "{error}");
        }
        let modelled = r#"{"engine": {"backend": "vllm"}}"#;
        assert!(ReplayConfig::from_json(modelled).is_ok());
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        assert_eq!(
            refused(r#"{"engine": {"block_size": -1}}"#).setting,
            "engine.block_size"
        );
        assert_eq!(refused(r#"{"seed": "a"}"#).setting, "seed");
        assert_eq!(refused("{} {}").setting, "configuration");
        assert!(
            refused(r#"{"engine": {"blok_size": 64}}"#)
                .what
                .contains("blok_size")
        );
        assert!(
            refused(r#"{"engine": {"block_size": "64"}}"#)
                .what
                .contains("invalid type")
        );
        assert!(
            refused(r#"{"load": {"speedup": null}}"#)
                .what
                .contains("invalid type")
        );
    }
}
