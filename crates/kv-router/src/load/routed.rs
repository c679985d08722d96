//! What a candidate is taken to have in its cache because requests were routed to it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::prompt::{PromptBlocks, Weight};

/// Prompts that were routed to one candidate and are not forgotten yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routed {
    blocks: PromptBlocks,
    /// When each prompt is forgotten, and its holder number; oldest first.
    prompts: VecDeque<(f64, u32)>,
}

impl Routed {
    /// Leading blocks of `chain` that are remembered at `now_ms`.
    pub(crate) fn overlap(&self, now_ms: f64, chain: &[u64]) -> u32 {
        self.blocks.shared_at(now_ms, chain) as u32
    }

    /// Remembers a prompt until `until_ms`, which is not before that of any earlier prompt, and
    /// drops the oldest prompts beyond `capacity` blocks.
    pub(crate) fn add(
        &mut self,
        now_ms: f64,
        until_ms: f64,
        capacity: Option<u64>,
        chain: &Arc<[u64]>,
    ) {
        while self
            .prompts
            .front()
            .is_some_and(|(until, _)| *until <= now_ms)
        {
            self.forget_oldest();
        }
        if chain.is_empty() {
            return;
        }
        let holder = self.blocks.add(chain, until_ms);
        self.prompts.push_back((until_ms, holder));
        let Some(capacity) = capacity else { return };
        // Prompts as well as blocks: a prompt that comes again and again adds no blocks.
        while Weight::blocks(self.blocks.total()).max(self.prompts.len() as u64) > capacity
            && self.prompts.len() > 1
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, holder)) = self.prompts.pop_front() {
            self.blocks.remove(holder);
        }
    }

    /// What is remembered, for the state digest.
    pub(crate) fn describe(&self) -> String {
        format!("{:?} {}", self.prompts, self.blocks.total())
    }
}
