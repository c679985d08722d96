//! All prompts of a trace as one tree: a prompt is a path from the root.

use rustc_hash::FxHashMap;

use crate::engine::{NodeId, Span};

/// Parent of the first block of a prompt.
const ROOT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Block {
    parent: u32,
    token: u32,
}

/// All prompts of a trace as one tree of trace blocks.
///
/// A node is a trace block behind the blocks before it, so equal nodes mean equal prefixes. Every
/// token of a trace block has the same value: the number of the block's hash id, counted in order
/// of first appearance in the trace. Ids that differ in any of their 64 bits therefore never share
/// a token.
#[derive(Debug, Default)]
pub struct PrefixTree {
    blocks: Vec<Block>,
}

/// Builds a [`PrefixTree`] from hash ids.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    tree: PrefixTree,
    tokens: FxHashMap<u64, u32>,
    children: FxHashMap<(u32, u32), u32>,
}

impl Interner {
    /// Adds a prompt and returns its last block.
    pub(crate) fn add(&mut self, hash_ids: &[u64]) -> u32 {
        let mut parent = ROOT;
        for &id in hash_ids {
            let fresh = self.tokens.len() as u32;
            let token = *self.tokens.entry(id).or_insert(fresh);
            let tree = &mut self.tree;
            parent = *self.children.entry((parent, token)).or_insert_with(|| {
                tree.blocks.push(Block { parent, token });
                (tree.blocks.len() - 1) as u32
            });
        }
        parent
    }

    pub(crate) fn finish(mut self) -> PrefixTree {
        self.tree.blocks.shrink_to_fit();
        self.tree
    }
}

impl PrefixTree {
    /// Number of different trace blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the tree has no block.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The token that a trace block repeats.
    pub fn token(&self, node: NodeId) -> u32 {
        self.blocks[node as usize].token
    }

    /// The block before this one; `None` at the start of a prompt.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.blocks[node as usize].parent;
        (parent != ROOT).then_some(parent)
    }

    /// The complete engine blocks of a prompt of `input` tokens that ends in `leaf`, in order.
    /// `trace_block` and `engine_block` are tokens; the second divides the first.
    pub fn spans(
        &self,
        leaf: NodeId,
        input: u32,
        trace_block: u32,
        engine_block: u32,
        out: &mut Vec<Span>,
    ) {
        out.clear();
        // The last trace block may be incomplete; the ones before it are not.
        let last = input - (input - 1) / trace_block * trace_block;
        let mut blocks = last / engine_block;
        let mut at = leaf;
        while at != ROOT {
            if blocks > 0 {
                out.push(Span { node: at, blocks });
            }
            blocks = trace_block / engine_block;
            at = self.blocks[at as usize].parent;
        }
        out.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(prompts: &[&[u64]]) -> (PrefixTree, Vec<u32>) {
        let mut interner = Interner::default();
        let leaves = prompts.iter().map(|prompt| interner.add(prompt)).collect();
        (interner.finish(), leaves)
    }

    #[test]
    fn equal_prefixes_share_nodes_and_equal_ids_elsewhere_do_not() {
        let (tree, leaves) = tree(&[&[1, 2], &[1, 2], &[1, 3], &[2, 2]]);
        assert_eq!(leaves[0], leaves[1]);
        assert_ne!(leaves[0], leaves[2]);
        assert_eq!(tree.parent(leaves[0]), tree.parent(leaves[2]));
        assert_ne!(leaves[0], leaves[3]);
        assert_eq!(tree.token(leaves[0]), tree.token(leaves[3]));
        assert_eq!(tree.len(), 5);
    }

    #[test]
    fn ids_that_differ_only_above_bit_32_do_not_share() {
        let (tree, leaves) = tree(&[&[7], &[7 + (1 << 32)], &[7 + (1 << 63)], &[7]]);
        let tokens: Vec<u32> = leaves.iter().map(|&leaf| tree.token(leaf)).collect();
        assert_eq!(tokens, [0, 1, 2, 0]);
        assert_eq!(leaves[0], leaves[3]);
    }

    #[test]
    fn spans_count_complete_engine_blocks() {
        let (tree, leaves) = tree(&[&[1, 2, 3]]);
        let mut spans = Vec::new();
        let mut blocks = |input| {
            tree.spans(leaves[0], input, 512, 16, &mut spans);
            spans.iter().map(|span| span.blocks).collect::<Vec<_>>()
        };
        assert_eq!(blocks(1536), [32, 32, 32]);
        assert_eq!(blocks(1025), [32, 32]);
        assert_eq!(blocks(1040), [32, 32, 1]);
        assert_eq!(blocks(1535), [32, 32, 31]);
    }
}
