//! The `mooncake` format, JSON Lines with the hash ids of a prompt's blocks, and `mooncake-delta`,
//! where a later turn gives only what it adds to the conversation so far.

use super::builder::{Builder, NewRequest};
use super::load::Format;
use super::row::{self, Row};
use super::{Hints, Place, blocks};
use crate::error::Problem;

/// Reads rows of JSON.
pub(super) struct Mooncake {
    block_size: u32,
    /// Whether the prompt of a later turn begins with the turn before and its output.
    delta: bool,
    hash_ids: Vec<u64>,
}

impl Mooncake {
    pub(super) fn new(block_size: u32, delta: bool) -> Self {
        let hash_ids = Vec::new();
        Self {
            block_size,
            delta,
            hash_ids,
        }
    }
}

impl Format for Mooncake {
    fn line(&mut self, line: &str, place: Place, builder: &mut Builder) -> Result<(), Problem> {
        let row = row::parse(line, &mut self.hash_ids)?;
        self.add(builder, row, place)
    }
}

impl Mooncake {
    fn add(&mut self, builder: &mut Builder, row: Row, place: Place) -> Result<(), Problem> {
        let (hash_ids, block_size) = (&mut self.hash_ids, self.block_size);
        let missing = |field: &str, expected: &str| {
            Problem::new(
                format!("{field} is missing"),
                expected,
                "add it or remove the line",
            )
        };
        if !row.has_hash_ids || hash_ids.is_empty() {
            return Err(missing(
                "hash_ids",
                "one hash id for each block of the prompt",
            ));
        }
        let output = row
            .output
            .ok_or_else(|| missing("output_length", "the number of tokens"))?;
        let covered = hash_ids.len() as u64 * u64::from(block_size);
        let input = row
            .input
            .unwrap_or(covered.min(u64::from(super::MAX_TOKENS)) as u32);
        blocks::fit(hash_ids, input, block_size, place, builder)?;
        if let Some(ids) = row.output_token_ids {
            if ids != output as usize {
                return Err(Problem::new(
                    format!("{ids} output_token_ids for output_length {output}"),
                    "as many as output_length says",
                    "correct one of them",
                ));
            }
            let what = "output_token_ids are checked, but no later prompt is matched against them";
            builder.warn("unused-field", place, what.to_string());
        }
        if row.policy_class {
            let what = "policy_class has no effect: the router of this replay has one class";
            builder.warn("unused-field", place, what.to_string());
        }
        if let Some(field) = row.unknown {
            let what = format!("unknown field {field:?} is left out");
            builder.warn("unknown-field", place, what);
        }
        builder.add(NewRequest {
            request_id: row.request_id,
            session_id: row.session_id,
            input,
            output,
            timestamp: row.timestamp,
            delay: row.delay,
            hints: Hints {
                priority_jump: row.priority.unwrap_or(0.0),
                strict_priority: row.strict_priority.unwrap_or(0),
            },
            hash_ids,
            block_size,
            continues: self.delta,
            place,
        })
    }
}
