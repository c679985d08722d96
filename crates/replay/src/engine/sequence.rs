//! One request inside an engine.

use super::cache::{KvCache, NodeId, Span};
use super::{FIRST_PRIVATE_NODE, Job};
use crate::time::Nanos;

/// One request inside an engine, and the blocks it has.
///
/// The blocks are, in order: `held` blocks of the prompt's nodes, `tail_held` blocks of the
/// node behind the prompt (they survived a preemption), and loose blocks up to the last computed
/// token. A prompt block that somebody else holds already is a loose second copy.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// Number of the request.
    pub(super) request: u32,
    /// Prompt length, tokens.
    pub(super) input: u32,
    /// Tokens to generate.
    pub(super) target: u32,
    /// Tokens generated; current when the sequence is not decoding.
    pub(super) generated: u32,
    /// Tokens with a place in the cache; current when the sequence is not decoding.
    pub(super) computed: u32,
    /// The complete blocks of the prompt.
    pub(super) spans: Vec<Span>,
    /// Their number.
    pub(super) prompt_blocks: u32,
    /// The node of the blocks behind the prompt.
    pub(super) tail: NodeId,
    held: u32,
    tail_held: u32,
    /// When the last token came out; kept over a preemption.
    pub(super) last_token: Nanos,
    /// Value of the group's pass counter when the sequence began to decode; `None` = it does not.
    pub(super) joined: Option<u64>,
    /// Value of the group's pass counter when the last token is out; `u64::MAX` = not known yet.
    pub(super) finishes: u64,
    /// Phase of the group in which the sequence needs a new block.
    pub(super) boundary: u32,
}

impl Sequence {
    /// A sequence that waits, without blocks, and is to generate `target` tokens.
    pub(super) fn new(job: &Job<'_>, target: u32, block_size: u32, mut spans: Vec<Span>) -> Self {
        spans.clear();
        spans.extend_from_slice(job.spans);
        Self {
            request: job.request,
            input: job.input,
            target,
            prompt_blocks: job.input / block_size,
            tail: job.tail.unwrap_or(FIRST_PRIVATE_NODE + job.request),
            spans,
            finishes: u64::MAX,
            ..Self::default()
        }
    }

    /// Tokens that must be in the cache before the next one can be generated.
    pub(super) fn context(&self) -> u32 {
        self.input + self.generated
    }

    /// Every complete block that the sequence could find in the cache.
    pub(super) fn path(&self, block_size: u32) -> impl Iterator<Item = Span> {
        let tail = self.context() / block_size - self.prompt_blocks;
        let tail = Some(Span {
            node: self.tail,
            blocks: tail,
        })
        .filter(|tail| tail.blocks > 0);
        self.spans.iter().copied().chain(tail)
    }

    /// Holds the first `blocks` blocks of the path, which are resident.
    pub(super) fn hold_match(&mut self, cache: &mut KvCache, blocks: u32) {
        self.hold_prompt(cache, blocks.min(self.prompt_blocks));
        if blocks > self.prompt_blocks {
            self.tail_held = blocks - self.prompt_blocks;
            cache.extend_hold(self.tail, 0, self.tail_held);
        }
    }

    /// Gives the content of newly computed prompt blocks to the cache, for other prompts to match.
    pub(super) fn publish(&mut self, cache: &mut KvCache, block_size: u32) {
        let mut complete = (self.computed / block_size).min(self.prompt_blocks);
        if complete <= self.held {
            return;
        }
        let mut start = 0;
        for span in &self.spans {
            let end = start + span.blocks;
            if end > self.held {
                let low = self.held.saturating_sub(start);
                if cache.is_held(span.node, low) {
                    complete = start + low;
                    break;
                }
                cache.store(span.node, low, complete.min(end) - start);
            }
            if end >= complete {
                break;
            }
            start = end;
        }
        self.hold_prompt(cache, complete);
    }

    /// Gives all blocks back, the end of the sequence first. With `keep`, complete blocks stay in
    /// the cache.
    pub(super) fn free(&mut self, cache: &mut KvCache, block_size: u32, keep: bool) {
        let mut loose = self.computed.div_ceil(block_size) - self.held - self.tail_held;
        if keep {
            let complete = self.computed / block_size;
            loose -= self.store_copies(cache, complete.min(self.prompt_blocks));
            let tail = complete.saturating_sub(self.prompt_blocks);
            if tail > self.tail_held {
                loose -= cache.store(self.tail, self.tail_held, tail);
                cache.extend_hold(self.tail, self.tail_held, tail);
            }
            if tail > 0 {
                cache.release(self.tail, tail);
            }
            self.release_prompt(cache);
        }
        cache.put_back(loose);
        self.computed = 0;
        self.held = 0;
        self.tail_held = 0;
    }

    /// Second copies become the only ones, where the first have gone meanwhile. Returns how many
    /// blocks are loose no more.
    fn store_copies(&mut self, cache: &mut KvCache, complete: u32) -> u32 {
        let mut stored = 0;
        let mut start = 0;
        for span in &self.spans {
            let end = start + span.blocks;
            if end > self.held && start < complete {
                let low = self.held.saturating_sub(start);
                stored += cache.store(span.node, low, complete.min(end) - start);
            }
            start = end;
        }
        self.hold_prompt(cache, complete);
        stored
    }

    fn hold_prompt(&mut self, cache: &mut KvCache, blocks: u32) {
        let mut start = 0;
        for span in &self.spans {
            let end = start + span.blocks;
            if start >= blocks {
                break;
            }
            if end > self.held {
                let from = self.held.saturating_sub(start);
                cache.extend_hold(span.node, from, blocks.min(end) - start);
            }
            start = end;
        }
        self.held = self.held.max(blocks);
    }

    fn release_prompt(&self, cache: &mut KvCache) {
        let mut end = self.prompt_blocks;
        for span in self.spans.iter().rev() {
            let start = end - span.blocks;
            if start < self.held {
                cache.release(span.node, self.held.min(end) - start);
            }
            end = start;
        }
    }
}
