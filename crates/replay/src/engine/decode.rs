//! The sequences that generate one token in every pass, as counts.
//!
//! While nobody joins or leaves, a pass changes nothing but three numbers, whatever the size of
//! the group: each member's progress follows from the pass counter.

use super::sequence::Sequence;

/// The decoding sequences of one engine.
#[derive(Debug)]
pub(super) struct DecodeGroup {
    /// Number of members.
    pub(super) size: u32,
    /// Tokens in all their contexts, the ones being computed included.
    pub(super) context: u64,
    /// Passes so far.
    pub(super) pass: u64,
    /// A member leaves the group when the counter reaches this; it may be too early, never late.
    pub(super) next_finish: u64,
    /// Pass counter modulo the block size.
    phase: u32,
    /// For each phase, the members that then need a new block.
    boundaries: Vec<u32>,
}

impl DecodeGroup {
    pub(super) fn new(block_size: u32) -> Self {
        Self {
            size: 0,
            context: 0,
            pass: 0,
            next_finish: u64::MAX,
            phase: 0,
            boundaries: vec![0; block_size as usize],
        }
    }

    /// Blocks that the members need for the next pass.
    pub(super) fn blocks_needed(&self) -> u32 {
        self.boundaries[self.phase as usize]
    }

    /// Whether this member needs a block for the next pass.
    pub(super) fn needs_block(&self, sequence: &Sequence) -> bool {
        sequence.boundary == self.phase
    }

    /// Counts a pass: every member has one more token.
    pub(super) fn advance(&mut self) {
        self.pass += 1;
        self.context += u64::from(self.size);
        self.phase += 1;
        if self.phase as usize == self.boundaries.len() {
            self.phase = 0;
        }
    }

    pub(super) fn join(&mut self, sequence: &mut Sequence) {
        let block_size = self.boundaries.len() as u32;
        sequence.joined = Some(self.pass);
        sequence.finishes = self.pass + u64::from(sequence.target - sequence.generated);
        let offset = sequence.computed % block_size;
        sequence.boundary = (self.phase + block_size - offset) % block_size;
        self.boundaries[sequence.boundary as usize] += 1;
        self.size += 1;
        self.context += u64::from(sequence.context());
        self.next_finish = self.next_finish.min(sequence.finishes);
    }

    /// Takes a member out and brings its own counters up to date.
    pub(super) fn leave(&mut self, sequence: &mut Sequence) {
        let Some(joined) = sequence.joined.take() else {
            return;
        };
        let progress = (self.pass - joined) as u32;
        sequence.generated += progress;
        sequence.computed += progress;
        self.boundaries[sequence.boundary as usize] -= 1;
        self.size -= 1;
        self.context -= u64::from(sequence.context());
    }
}
