//! How long a forward pass takes.

use serde::{Deserialize, Serialize};

use super::table::TimeTable;

/// The timing model of one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Timing {
    /// Two polynomials fitted to a dense model on one accelerator; see [`Timing::pass_time`].
    Polynomial,
    /// A constant for each part that a pass has.
    Fixed {
        /// Time of the prefill part, ms.
        prefill_ms: f64,
        /// Time of the decode part, ms.
        decode_ms: f64,
    },
    /// Measured times.
    Table(TimeTable),
}

/// What one forward pass computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassWork {
    /// Prompt tokens that the pass computes, over all requests.
    pub prefill_tokens: u64,
    /// Requests that the pass gives one more token.
    pub decodes: u32,
    /// Tokens in the contexts of those requests, the one being computed included.
    pub context_tokens: u64,
}

/// How long a pass takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The time, ms.
    pub ms: f64,
    /// No measurement covers it.
    pub extrapolated: bool,
}

impl Timing {
    /// Time of a pass: the sum of its prefill part and its decode part, the latter divided by
    /// `decode_speedup`. A part that is absent takes nothing.
    ///
    /// Polynomial: with `t` prompt tokens, prefill takes `4.209989e-7 t² + 1.518344e-2 t +
    /// 16.50142` ms. With `p` the share (at most 1) of the worker's `cache_tokens` that the
    /// decoding contexts fill, decode takes `max(1, -25.74 p² + 54.01 p + 5.74)` ms. Both are the
    /// published constants of the mock engines of this field.
    #[inline]
    pub fn pass_time(&self, work: PassWork, cache_tokens: f64, decode_speedup: f64) -> Estimate {
        let mut total = Estimate::default();
        if work.prefill_tokens > 0 {
            total = self.prefill(work.prefill_tokens);
        }
        if work.decodes > 0 {
            let decode = self.decode(work, cache_tokens);
            total.ms += decode.ms / decode_speedup;
            total.extrapolated |= decode.extrapolated;
        }
        total
    }

    fn prefill(&self, tokens: u64) -> Estimate {
        match self {
            Self::Polynomial => {
                let t = tokens as f64;
                Estimate::covered(4.209989e-7 * t * t + 1.518344e-2 * t + 16.50142)
            }
            Self::Fixed { prefill_ms, .. } => Estimate::covered(*prefill_ms),
            Self::Table(table) => table.prefill(tokens),
        }
    }

    fn decode(&self, work: PassWork, cache_tokens: f64) -> Estimate {
        match self {
            Self::Polynomial => {
                let p = (work.context_tokens as f64 / cache_tokens).min(1.0);
                Estimate::covered((-25.74 * p * p + 54.01 * p + 5.74).max(1.0))
            }
            Self::Fixed { decode_ms, .. } => Estimate::covered(*decode_ms),
            Self::Table(table) => table.decode(work),
        }
    }

    /// What is wrong with the model: the field, and what.
    pub(crate) fn fault(&self) -> Option<(String, String)> {
        match self {
            Self::Polynomial => None,
            Self::Fixed {
                prefill_ms,
                decode_ms,
            } => [("prefill_ms", *prefill_ms), ("decode_ms", *decode_ms)]
                .into_iter()
                .find(|&(_, ms)| !is_pass_time(ms))
                .map(|(field, ms)| (field.into(), format!("{ms} is not the time of a pass, ms"))),
            Self::Table(table) => table.fault(),
        }
    }
}

impl Estimate {
    fn covered(ms: f64) -> Self {
        Self {
            ms,
            extrapolated: false,
        }
    }
}

/// Whether a number can be the time of a pass, ms: far below what could overflow a clock.
pub(super) fn is_pass_time(ms: f64) -> bool {
    (0.0..=1e7).contains(&ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(prefill_tokens: u64, decodes: u32, context_tokens: u64) -> PassWork {
        PassWork {
            prefill_tokens,
            decodes,
            context_tokens,
        }
    }

    #[test]
    fn polynomial_matches_the_published_points() {
        let ms = |work| Timing::Polynomial.pass_time(work, 524_288.0, 1.0).ms;
        assert!((ms(work(8192, 0, 0)) - 169.137).abs() < 1e-3);
        assert!((ms(work(0, 1, 1024)) - 5.8454).abs() < 1e-3);
        assert_eq!(ms(work(0, 0, 0)), 0.0);
        assert_eq!(
            ms(work(8192, 1, 1024)),
            ms(work(8192, 0, 0)) + ms(work(0, 1, 1024))
        );
    }

    #[test]
    fn decode_depends_on_tokens_not_blocks_and_saturates() {
        let ms = |context, cache| {
            Timing::Polynomial
                .pass_time(work(0, 4, context), cache, 1.0)
                .ms
        };
        assert_eq!(ms(1024, 16_384.0), ms(2048, 32_768.0));
        assert_eq!(ms(20_000, 16_384.0), ms(16_384, 16_384.0));
    }

    #[test]
    fn fixed_counts_each_part_once() {
        let fixed = Timing::Fixed {
            prefill_ms: 10.0,
            decode_ms: 1.0,
        };
        let ms = |work, speedup| fixed.pass_time(work, 1.0, speedup).ms;
        assert_eq!(ms(work(100, 0, 0), 1.0), 10.0);
        assert_eq!(ms(work(0, 9, 900), 1.0), 1.0);
        assert_eq!(ms(work(5, 9, 900), 1.0), 11.0);
        assert_eq!(ms(work(5, 9, 900), 4.0), 10.25);
    }
}
