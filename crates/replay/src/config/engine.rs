//! The settings of one worker's engine.

use serde::{Deserialize, Serialize};

use super::{at_least_one, positive};
use crate::engine::Timing;
use crate::error::ConfigError;

/// The engine models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Continuous batching with chunked prefill and a paged, prefix-cached KV cache.
    #[default]
    Vllm,
}

/// The settings of one worker's engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineConfig {
    /// The engine model.
    pub backend: Backend,
    /// Tokens of one KV cache block.
    pub block_size: u32,
    /// Blocks of one worker's KV cache.
    pub num_gpu_blocks: u32,
    /// Requests that run at once on one worker, at most.
    pub max_num_seqs: u32,
    /// Tokens that one forward pass computes, at most.
    pub max_num_batched_tokens: u32,
    /// Longest context (prompt and output), tokens; `None` = only the cache bounds it.
    pub max_model_len: Option<u32>,
    /// Whether finished blocks stay in the cache for later prompts.
    pub enable_prefix_caching: bool,
    /// Whether a prompt may be spread over several passes.
    pub enable_chunked_prefill: bool,
    /// How long a pass takes.
    pub timing: Timing,
    /// Divides the time of every pass.
    pub speedup_ratio: f64,
    /// Divides the time of the decode part of every pass, on top of `speedup_ratio`.
    pub decode_speedup_ratio: f64,
    /// Accelerators that share the weights of one worker; scales GPU hours only.
    pub tensor_parallel_size: u32,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            backend: Backend::Vllm,
            block_size: 64,
            num_gpu_blocks: 16_384,
            max_num_seqs: 256,
            max_num_batched_tokens: 8192,
            max_model_len: None,
            enable_prefix_caching: true,
            enable_chunked_prefill: true,
            timing: Timing::Polynomial,
            speedup_ratio: 1.0,
            decode_speedup_ratio: 1.0,
            tensor_parallel_size: 1,
        }
    }
}

/// The scheduler keeps a counter for each token of a block.
const LARGEST_BLOCK: u32 = 65_536;
/// Far above any real worker, far below what could overflow a clock or a counter.
const LARGEST_COUNT: u32 = 1 << 24;

impl EngineConfig {
    /// Tokens that one worker's KV cache holds.
    pub fn cache_tokens(&self) -> u64 {
        u64::from(self.num_gpu_blocks) * u64::from(self.block_size)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        for (setting, value) in [
            ("engine.block_size", self.block_size),
            ("engine.num_gpu_blocks", self.num_gpu_blocks),
            ("engine.max_num_seqs", self.max_num_seqs),
            ("engine.max_num_batched_tokens", self.max_num_batched_tokens),
            ("engine.max_model_len", self.max_model_len.unwrap_or(1)),
            ("engine.tensor_parallel_size", self.tensor_parallel_size),
        ] {
            at_least_one(setting, value)?;
        }
        if self.block_size > LARGEST_BLOCK {
            return Err(ConfigError::new(
                "engine.block_size",
                format!("{} is larger than {LARGEST_BLOCK}", self.block_size),
                "give the tokens of one KV cache block, such as 16 or 64",
            ));
        }
        for (setting, value) in [
            ("engine.num_gpu_blocks", self.num_gpu_blocks),
            ("engine.max_num_batched_tokens", self.max_num_batched_tokens),
        ] {
            if value > LARGEST_COUNT {
                let what = format!("{value} is larger than {LARGEST_COUNT}");
                return Err(ConfigError::new(
                    setting,
                    what,
                    "give what one real worker has",
                ));
            }
        }
        positive("engine.speedup_ratio", self.speedup_ratio)?;
        positive("engine.decode_speedup_ratio", self.decode_speedup_ratio)?;
        if let Some((field, what)) = self.timing.fault() {
            return Err(ConfigError::new(
                format!("engine.timing.{field}"),
                what,
                "give rising tokens and requests, at least 1, and times of 0 to 10,000,000 ms",
            ));
        }
        Ok(())
    }
}
