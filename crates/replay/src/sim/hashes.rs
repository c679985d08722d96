//! The hashes by which the router knows the blocks of a trace.

use kv_router::{StoredBlock, block_hashes, sequence_hashes};

use crate::engine::{NodeId, Span};
use crate::trace::PrefixTree;

/// Block and sequence hashes of prompts, from the tokens that [`PrefixTree`] defines.
///
/// All blocks inside a segment have the same tokens, so there is one block hash for each token;
/// only a block across segments has one of its own. The sequence hash before a node is remembered,
/// so that a stretch of a node can be hashed without its prompt.
#[derive(Debug)]
pub(super) struct PrefixHashes {
    block_size: u32,
    /// By token; 0 = not known yet.
    locals: Vec<u64>,
    /// By node: sequence hash of the block before its blocks; meaningless at the start of a prompt.
    before: Vec<u64>,
    scratch: Vec<u64>,
    tokens: Vec<u32>,
}

impl PrefixHashes {
    pub(super) fn new(tree: &PrefixTree, block_size: u32) -> Self {
        Self {
            block_size,
            locals: vec![0; tree.tokens()],
            before: vec![0; tree.len()],
            scratch: Vec::new(),
            tokens: Vec::new(),
        }
    }

    /// Sequence hashes of the complete blocks of a prompt. `tail`: the node of its output, if a
    /// later prompt holds it.
    pub(super) fn prompt(
        &mut self,
        tree: &PrefixTree,
        spans: &[Span],
        tail: Option<NodeId>,
    ) -> Vec<u64> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        for span in spans {
            self.push_locals(tree, span.node, span.blocks, &mut scratch);
        }
        let hashes = sequence_hashes(&scratch);
        self.scratch = scratch;
        let mut end = 0;
        for span in spans {
            if end > 0 {
                self.before[span.node as usize] = hashes[end - 1];
            }
            end += span.blocks as usize;
        }
        if let (Some(tail), Some(&last)) = (tail, hashes.last()) {
            self.before[tail as usize] = last;
        }
        hashes
    }

    /// Blocks `low..high` of a node whose prompt was hashed before, and the sequence hash of the
    /// block before them; `None` at the start of a prompt.
    pub(super) fn stretch(
        &mut self,
        tree: &PrefixTree,
        node: NodeId,
        low: u32,
        high: u32,
        out: &mut Vec<StoredBlock>,
    ) -> Option<u64> {
        let is_first = tree.start(node) < self.block_size;
        let first = (!is_first).then(|| self.before[node as usize]);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        // A chained hash may itself be the first link of a chain.
        scratch.extend(first);
        let lead = scratch.len();
        self.push_locals(tree, node, high, &mut scratch);
        let hashes = sequence_hashes(&scratch);
        let blocks = hashes[lead..].iter().zip(&scratch[lead..]);
        out.clear();
        out.extend(
            blocks
                .skip(low as usize)
                .map(|(&block_hash, &tokens_hash)| StoredBlock {
                    block_hash,
                    tokens_hash,
                }),
        );
        self.scratch = scratch;
        if low > 0 {
            Some(hashes[lead + low as usize - 1])
        } else {
            first
        }
    }

    /// Adds the hashes of the first `count` blocks of a node.
    fn push_locals(&mut self, tree: &PrefixTree, node: NodeId, count: u32, out: &mut Vec<u64>) {
        let local = self.local(tree.token(node));
        let from = out.len();
        out.resize(from + count as usize, local);
        if count > 0 && !tree.start(node).is_multiple_of(self.block_size) {
            tree.first_block(node, self.block_size, &mut self.tokens);
            out[from] = block_hashes(&self.tokens, self.block_size as usize, None)[0];
        }
    }

    fn local(&mut self, token: u32) -> u64 {
        let known = self.locals[token as usize];
        if known != 0 {
            return known;
        }
        let tokens = vec![token; self.block_size as usize];
        let hash = block_hashes(&tokens, self.block_size as usize, None)[0];
        self.locals[token as usize] = hash;
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Interner;

    #[test]
    fn a_prompt_is_hashed_as_its_tokens_say() {
        let mut interner = Interner::default();
        let leaf = interner.add(None, 0, &[9, 9 + (1 << 40), 9], 8);
        let tree = interner.finish();
        let mut spans = Vec::new();
        tree.spans(leaf, 5 * 4 + 3, 4, &mut spans);
        let mut hashes = PrefixHashes::new(&tree, 4);
        let found = hashes.prompt(&tree, &spans, None);

        let tokens: Vec<u32> = [[0; 8], [1; 8], [0; 8]].concat();
        let locals = block_hashes(&tokens[..23], 4, None);
        let expected = sequence_hashes(&locals);
        assert_eq!(found, expected);

        let mut blocks = Vec::new();
        let parent = hashes.stretch(&tree, spans[1].node, 1, 2, &mut blocks);
        assert_eq!(
            (parent, blocks[0].block_hash),
            (Some(expected[2]), expected[3])
        );
        assert_eq!(blocks[0].tokens_hash, locals[3]);
        assert_eq!(
            hashes.stretch(&tree, spans[0].node, 0, 2, &mut blocks),
            None
        );
        assert_eq!(blocks.len(), 2);
        assert_eq!(
            hashes.stretch(&tree, spans[2].node, 0, 1, &mut blocks),
            Some(expected[3])
        );
    }

    #[test]
    fn blocks_across_segments_and_outputs_are_hashed_as_their_tokens_say() {
        let mut interner = Interner::default();
        let prompt = interner.add(None, 0, &[5], 8);
        let output = interner.add_output(prompt, 6);
        let next = interner.add(Some(output), 9, &[5], 8);
        let tree = interner.finish();
        let tokens = [0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0];
        let locals = block_hashes(&tokens, 4, None);
        let expected = sequence_hashes(&locals);

        let mut hashes = PrefixHashes::new(&tree, 4);
        let mut spans = Vec::new();
        tree.spans(prompt, 6, 4, &mut spans);
        assert_eq!(hashes.prompt(&tree, &spans, Some(output)), expected[..1]);
        let mut blocks = Vec::new();
        assert_eq!(
            hashes.stretch(&tree, output, 0, 1, &mut blocks),
            Some(expected[0])
        );
        assert_eq!(
            (blocks[0].block_hash, blocks[0].tokens_hash),
            (expected[1], locals[1])
        );
        tree.spans(next, 16, 4, &mut spans);
        assert_eq!(hashes.prompt(&tree, &spans, None), expected);
    }
}
