//! The `applied-compute-agentic` format: JSON Lines, a conversation with tool calls on each line.

use serde::Deserialize;

use super::builder::{Builder, NewRequest};
use super::load::Format;
use super::{Hints, MAX_TOKENS, Place};
use crate::error::Problem;
use crate::time::MAX_MS;

/// A conversation. Lengths are tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversation {
    /// Tool calls; one request more follows from them.
    num_turns: usize,
    input_prompt_length: u32,
    assistant_response_length: Vec<u32>,
    tool_call_output_length: Vec<u32>,
    /// s
    tool_call_latency: Vec<f64>,
    final_assistant_response_length: u32,
}

/// Reads conversations. Nothing is known of their content, so no two of them share a block; each
/// prompt holds the conversation so far.
pub(super) struct Applied {
    block_size: u32,
    conversations: u64,
    next_id: u64,
    hash_ids: Vec<u64>,
}

impl Applied {
    pub(super) fn new(block_size: u32) -> Self {
        Self {
            block_size,
            conversations: 0,
            next_id: 0,
            hash_ids: Vec::new(),
        }
    }
}

impl Format for Applied {
    fn line(&mut self, line: &str, place: Place, builder: &mut Builder) -> Result<(), Problem> {
        let mut json = serde_json::Deserializer::from_str(line);
        let talk: Conversation = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| unreadable(&error.to_string()))?;
        json.end().map_err(|error| unreadable(&error.to_string()))?;
        talk.check()?;
        self.conversations += 1;
        let session = format!("session_{}", self.conversations);
        for turn in 0..=talk.num_turns {
            let before = turn.checked_sub(1);
            let input = before.map_or(talk.input_prompt_length, |before| {
                talk.tool_call_output_length[before]
            });
            let output = talk.assistant_response_length.get(turn);
            let blocks = u64::from(input.div_ceil(self.block_size));
            self.hash_ids.clear();
            self.hash_ids.extend(self.next_id..self.next_id + blocks);
            self.next_id += blocks;
            builder.add(NewRequest {
                request_id: None,
                session_id: Some(session.clone()),
                input,
                output: output
                    .copied()
                    .unwrap_or(talk.final_assistant_response_length),
                timestamp: before.is_none().then_some(0.0),
                delay: before.map(|before| talk.tool_call_latency[before] * 1e3),
                hints: Hints::default(),
                hash_ids: &self.hash_ids,
                block_size: self.block_size,
                continues: true,
                place,
            })?;
        }
        Ok(())
    }
}

impl Conversation {
    /// Refuses what the builder would refuse halfway.
    fn check(&self) -> Result<(), Problem> {
        for (field, found) in [
            (
                "assistant_response_length",
                self.assistant_response_length.len(),
            ),
            (
                "tool_call_output_length",
                self.tool_call_output_length.len(),
            ),
            ("tool_call_latency", self.tool_call_latency.len()),
        ] {
            if found != self.num_turns {
                return Err(Problem::new(
                    format!(
                        "{field} has {found} entries, but num_turns is {}",
                        self.num_turns
                    ),
                    "one entry for each turn",
                    "correct one of them or remove the line",
                ));
            }
        }
        let latencies = self.tool_call_latency.iter();
        if let Some(wrong) = latencies
            .clone()
            .find(|&&s| !(0.0..=MAX_MS / 1e3).contains(&s))
        {
            return Err(Problem::new(
                format!("tool_call_latency holds {wrong}"),
                format!("seconds, 0 to {} (100 days)", MAX_MS / 1e3),
                "correct the value or remove the line",
            ));
        }
        let parts = [
            self.input_prompt_length,
            self.final_assistant_response_length,
        ];
        let lengths = self.assistant_response_length.iter();
        let tokens = lengths.chain(&self.tool_call_output_length).chain(&parts);
        let total: u64 = tokens.map(|&tokens| u64::from(tokens)).sum();
        if self.input_prompt_length == 0 || total > u64::from(MAX_TOKENS) {
            return Err(Problem::new(
                format!(
                    "a prompt of {} tokens, {total} in all",
                    self.input_prompt_length
                ),
                format!("a prompt of at least 1 token, at most {MAX_TOKENS} in all"),
                "correct the lengths or remove the line",
            ));
        }
        Ok(())
    }
}

fn unreadable(error: &str) -> Problem {
    let fix = "repair or remove the line";
    Problem::new(
        error,
        "one conversation a line, as docs/replay.md has it",
        fix,
    )
}
