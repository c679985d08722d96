//! The blocks that hash ids of a trace stand for.

use super::Place;
use super::builder::Builder;
use crate::config::DEFAULT_TRACE_BLOCK;
use crate::error::Problem;

/// The block size of a trace that says it itself.
pub(super) struct BlockSize {
    configured: u32,
    said: Option<u32>,
}

impl BlockSize {
    pub(super) fn new(configured: u32) -> Self {
        Self {
            configured,
            said: None,
        }
    }

    /// Takes what a line says; every line must say the same, and so must the configuration unless
    /// it holds the default.
    pub(super) fn agree(&mut self, said: u32) -> Result<u32, Problem> {
        let first = *self.said.get_or_insert(said);
        if said == 0 || said != first {
            return Err(Problem::new(
                format!("the block size is {said}"),
                match first {
                    0 => "at least 1 token".to_string(),
                    first => format!("{first} tokens, as on the lines before"),
                },
                "split the trace by block size",
            ));
        }
        if self.configured != said && self.configured != DEFAULT_TRACE_BLOCK {
            return Err(Problem::new(
                format!("the block size is {said}"),
                format!("{} tokens, as the configuration says", self.configured),
                format!("give --trace-block-size {said}, or leave it out"),
            ));
        }
        Ok(said)
    }
}

/// Refuses fewer hash ids than the prompt needs, and leaves out what is beyond them.
pub(super) fn fit(
    hash_ids: &mut Vec<u64>,
    input: u32,
    block_size: u32,
    place: Place,
    builder: &mut Builder,
) -> Result<(), Problem> {
    let needed = input.div_ceil(block_size) as usize;
    let given = hash_ids.len();
    if given < needed {
        let covered = given as u64 * u64::from(block_size);
        return Err(Problem::new(
            format!("{given} hash ids cover {covered} tokens, but input_length is {input}"),
            format!("{needed} hash ids of {block_size} tokens"),
            "give the block size that the trace was recorded with as --trace-block-size",
        ));
    }
    if given > needed {
        let what = format!(
            "{given} hash ids for {input} tokens, which need {needed}; the rest is left out"
        );
        builder.warn("surplus-hash-ids", place, what);
        hash_ids.truncate(needed);
    }
    Ok(())
}
