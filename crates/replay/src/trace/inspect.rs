//! What a trace holds.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Trace;
use crate::report::Distribution;
use crate::time;

/// What a trace holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// Requests.
    pub requests: u64,
    /// Sessions; a request without one is a session of its own.
    pub sessions: u64,
    /// Turns of the longest session.
    pub most_turns: u32,
    /// From the first arrival to the last first turn, ms.
    pub span_ms: f64,
    /// Prompt tokens of all requests.
    pub input_tokens: u64,
    /// Output tokens of all requests.
    pub output_tokens: u64,
    /// Prompt lengths, tokens.
    pub input_length: Option<Distribution>,
    /// Output lengths, tokens.
    pub output_length: Option<Distribution>,
    /// Think times before later turns, ms.
    pub delay_ms: Option<Distribution>,
    /// Different blocks of the trace, each behind its own prefix.
    pub distinct_blocks: u64,
    /// Prompt tokens that one worker with an infinite cache would find in it, over all prompt
    /// tokens, with the requests one after the other in order of time.
    pub best_prefix_reuse: f64,
}

impl Trace {
    /// Measures the trace. Reuse counts complete blocks of `engine_block` tokens, and never a whole
    /// prompt.
    pub fn inspect(&self, engine_block: u32) -> Inspection {
        let requests = &self.requests;
        let first_turns = requests.iter().filter(|request| request.turn == 0);
        let later = requests.iter().filter(|request| request.turn > 0);
        let lengths = |length: fn(&super::TraceRequest) -> u32| {
            Distribution::of(
                requests
                    .iter()
                    .map(|request| length(request).into())
                    .collect(),
            )
        };
        let total = |length: fn(&super::TraceRequest) -> u32| {
            requests
                .iter()
                .map(|request| u64::from(length(request)))
                .sum()
        };
        let input_tokens = total(|request| request.input);
        Inspection {
            requests: requests.len() as u64,
            sessions: first_turns.clone().count() as u64,
            most_turns: requests
                .iter()
                .map(|request| request.turn + 1)
                .max()
                .unwrap_or(0),
            span_ms: time::to_ms(first_turns.map(|request| request.at).max().unwrap_or(0)),
            input_tokens,
            output_tokens: total(|request| request.output),
            input_length: lengths(|request| request.input),
            output_length: lengths(|request| request.output),
            delay_ms: Distribution::of_spans(later.map(|request| request.delay).collect()),
            distinct_blocks: self.prefixes.len() as u64,
            best_prefix_reuse: self.best_reuse(engine_block) as f64
                / (input_tokens as f64).max(1.0),
        }
    }

    fn best_reuse(&self, engine_block: u32) -> u64 {
        // Later turns have no time of their own; they follow in the order of the file.
        let mut order: Vec<&super::TraceRequest> = self.requests.iter().collect();
        let mut start = 0;
        let starts: Vec<_> = self
            .requests
            .iter()
            .map(|request| {
                start = if request.turn == 0 { request.at } else { start };
                start
            })
            .collect();
        let mut indices: Vec<usize> = (0..order.len()).collect();
        indices.sort_by_key(|&index| starts[index]);
        order = indices.into_iter().map(|index| order[index]).collect();
        let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
        let mut spans = Vec::new();
        let mut reused = 0;
        for request in order {
            self.prefixes
                .spans(request.leaf, request.input, engine_block, &mut spans);
            let (mut found, mut unbroken) = (0, true);
            for span in &spans {
                let known = seen.entry(span.node).or_insert(0);
                if unbroken {
                    found += span.blocks.min(*known);
                    unbroken = *known >= span.blocks;
                }
                *known = (*known).max(span.blocks);
            }
            reused +=
                u64::from(found.min((request.input - 1) / engine_block)) * u64::from(engine_block);
        }
        reused
    }
}
