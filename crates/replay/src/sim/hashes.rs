//! The hashes by which the router knows the blocks of a trace.

use kv_router::{StoredBlock, block_hashes, sequence_hashes};

use crate::engine::{NodeId, Span};
use crate::trace::PrefixTree;

/// Block and sequence hashes of prompts, from the tokens that [`PrefixTree`] defines.
///
/// All engine blocks inside a trace block have the same tokens, so there is one block hash for
/// each token; the sequence hash before a node is remembered, so that a stretch of a node can be
/// hashed without its prompt.
#[derive(Debug)]
pub(super) struct PrefixHashes {
    block_size: u32,
    /// By token; 0 = not known yet.
    locals: Vec<u64>,
    /// By node: sequence hash of the block before it; meaningless at the start of a prompt.
    before: Vec<u64>,
    scratch: Vec<u64>,
}

impl PrefixHashes {
    pub(super) fn new(tree: &PrefixTree, block_size: u32) -> Self {
        let (locals, before) = (vec![0; tree.len()], vec![0; tree.len()]);
        Self {
            block_size,
            locals,
            before,
            scratch: Vec::new(),
        }
    }

    /// Sequence hashes of the complete blocks of a prompt.
    pub(super) fn prompt(&mut self, tree: &PrefixTree, spans: &[Span]) -> Vec<u64> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        for span in spans {
            let local = self.local(tree.token(span.node));
            scratch.resize(scratch.len() + span.blocks as usize, local);
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
        let local = self.local(tree.token(node));
        let first = tree.parent(node).map(|_| self.before[node as usize]);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        // A chained hash may itself be the first link of a chain.
        scratch.extend(first);
        let lead = scratch.len();
        scratch.resize(lead + high as usize, local);
        let hashes = sequence_hashes(&scratch);
        self.scratch = scratch;
        let blocks = &hashes[lead..];
        out.clear();
        out.extend(blocks[low as usize..].iter().map(|&hash| StoredBlock {
            block_hash: hash,
            tokens_hash: local,
        }));
        if low > 0 {
            Some(blocks[low as usize - 1])
        } else {
            first
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
        let leaf = interner.add(&[9, 9 + (1 << 40), 9]);
        let tree = interner.finish();
        let mut spans = Vec::new();
        tree.spans(leaf, 5 * 4 + 3, 8, 4, &mut spans);
        let mut hashes = PrefixHashes::new(&tree, 4);
        let found = hashes.prompt(&tree, &spans);

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
}
