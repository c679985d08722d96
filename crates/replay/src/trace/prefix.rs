//! All prompts of a trace as one tree: a prompt is a path from the root.

use rustc_hash::FxHashMap;

use crate::engine::{NodeId, Span};

/// Parent of the first segment of a prompt.
const ROOT: u32 = u32::MAX;

/// A stretch of equal tokens, at one place behind one prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    parent: u32,
    /// Position of its first token in the prompt.
    start: u32,
    token: u32,
}

/// All prompts of a trace as one tree of segments: stretches of equal tokens.
///
/// A node is a segment behind the segments before it, so equal nodes mean equal prefixes. A prompt
/// may use the beginning of a segment only: as its end, or before a segment that follows.
///
/// Every token of a trace block has the same value: the number of the block's hash id, counted in
/// order of first appearance in the trace. Ids that differ in any of their 64 bits therefore never
/// share a token. The output of a request that a later prompt holds is a segment of a number of
/// its own.
///
/// An engine block belongs to the segment in which it ends, so that (node, number of the block in
/// the node) names its content and everything before it, wherever blocks and segments are cut.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PrefixTree {
    segments: Vec<Segment>,
    tokens: u32,
}

/// Builds a [`PrefixTree`].
#[derive(Debug, Default)]
pub(crate) struct Interner {
    tree: PrefixTree,
    tokens: FxHashMap<u64, u32>,
    children: FxHashMap<(u32, u32, u32), u32>,
}

impl Interner {
    /// Adds a prompt whose first tokens, `start` of them, end in `parent`: trace blocks of
    /// `block_size` tokens follow. Returns its last segment.
    pub(crate) fn add(
        &mut self,
        parent: Option<NodeId>,
        start: u32,
        hash_ids: &[u64],
        block_size: u32,
    ) -> NodeId {
        let mut node = parent.unwrap_or(ROOT);
        for (at, &id) in hash_ids.iter().enumerate() {
            let fresh = self.tree.tokens;
            let token = *self.tokens.entry(id).or_insert(fresh);
            self.tree.tokens = fresh + u32::from(token == fresh);
            node = self.child(node, start + at as u32 * block_size, token);
        }
        node
    }

    /// Adds a segment of a token that is nowhere else.
    pub(crate) fn add_output(&mut self, parent: NodeId, start: u32) -> NodeId {
        self.tree.tokens += 1;
        self.child(parent, start, self.tree.tokens - 1)
    }

    pub(crate) fn finish(mut self) -> PrefixTree {
        self.tree.segments.shrink_to_fit();
        self.tree
    }

    fn child(&mut self, parent: u32, start: u32, token: u32) -> NodeId {
        let segments = &mut self.tree.segments;
        *self
            .children
            .entry((parent, start, token))
            .or_insert_with(|| {
                segments.push(Segment {
                    parent,
                    start,
                    token,
                });
                (segments.len() - 1) as u32
            })
    }
}

impl PrefixTree {
    /// Number of different segments.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether the tree has no segment.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Number of different tokens.
    pub fn tokens(&self) -> usize {
        self.tokens as usize
    }

    /// The token that a segment repeats.
    pub fn token(&self, node: NodeId) -> u32 {
        self.segments[node as usize].token
    }

    /// Position of the first token of a segment.
    pub fn start(&self, node: NodeId) -> u32 {
        self.segments[node as usize].start
    }

    /// The segment before this one; `None` at the start of a prompt.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.segments[node as usize].parent;
        (parent != ROOT).then_some(parent)
    }

    /// The complete engine blocks, of `block_size` tokens, of a prompt of `input` tokens that ends
    /// in `leaf`, in order.
    pub fn spans(&self, leaf: NodeId, input: u32, block_size: u32, out: &mut Vec<Span>) {
        out.clear();
        let (mut node, mut end) = (leaf, input / block_size);
        while node != ROOT {
            let segment = self.segments[node as usize];
            let start = segment.start / block_size;
            if end > start {
                out.push(Span {
                    node,
                    blocks: end - start,
                });
            }
            (node, end) = (segment.parent, start);
        }
        out.reverse();
    }

    /// The tokens of the first engine block that ends in a node.
    pub fn first_block(&self, node: NodeId, block_size: u32, out: &mut Vec<u32>) {
        out.clear();
        let (mut node, mut end) = (node, (self.start(node) / block_size + 1) * block_size);
        let start = end - block_size;
        while node != ROOT && end > start {
            let segment = self.segments[node as usize];
            let from = segment.start.max(start);
            out.extend(std::iter::repeat_n(segment.token, (end - from) as usize));
            (node, end) = (segment.parent, from);
        }
        out.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(prompts: &[&[u64]]) -> (PrefixTree, Vec<u32>) {
        let mut interner = Interner::default();
        let leaves = prompts
            .iter()
            .map(|prompt| interner.add(None, 0, prompt, 512))
            .collect();
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
        assert_eq!((tree.len(), tree.tokens()), (5, 3));
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
            tree.spans(leaves[0], input, 16, &mut spans);
            spans.iter().map(|span| span.blocks).collect::<Vec<_>>()
        };
        assert_eq!(blocks(1536), [32, 32, 32]);
        assert_eq!(blocks(1025), [32, 32]);
        assert_eq!(blocks(1040), [32, 32, 1]);
        assert_eq!(blocks(1535), [32, 32, 31]);
    }

    #[test]
    fn a_block_across_segments_belongs_to_the_one_in_which_it_ends() {
        // 10 tokens of a prompt, 4 of output, then 8 new ones: a b b b b b ... in blocks of 4.
        let mut interner = Interner::default();
        let prompt = interner.add(None, 0, &[5, 6], 8);
        let output = interner.add_output(prompt, 10);
        let next = interner.add(Some(output), 14, &[5], 8);
        let tree = interner.finish();
        let mut spans = Vec::new();
        tree.spans(next, 22, 4, &mut spans);
        let counts: Vec<_> = spans.iter().map(|span| (span.node, span.blocks)).collect();
        assert_eq!(counts, [(0, 2), (output, 1), (next, 2)]);
        let mut tokens = Vec::new();
        tree.first_block(output, 4, &mut tokens);
        assert_eq!(tokens, [1, 1, 2, 2]);
        tree.first_block(next, 4, &mut tokens);
        assert_eq!(tokens, [2, 2, 0, 0]);
        tree.first_block(0, 4, &mut tokens);
        assert_eq!(tokens, [0, 0, 0, 0]);
    }
}
