//! Runs of cached blocks that nobody holds, least recently used first.
//!
//! A run is a stretch of blocks of one cache node. All blocks of a run became free at the same
//! moment; eviction takes them from the end of the run, since the end of a prefix is worth less
//! than its beginning.

/// Index of a run or a node; [`NONE`] = there is none.
pub(super) type Index = u32;

/// No index.
pub(super) const NONE: Index = u32::MAX;

/// A stretch of evictable blocks of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Slot of the node that owns the blocks.
    pub(super) slot: Index,
    /// First block, counted from the start of the node.
    pub(super) low: u32,
    /// One past the last block.
    pub(super) high: u32,
    /// The next run of the same node, further from its start and older.
    pub(super) above: Index,
    older: Index,
    newer: Index,
}

/// The queue of runs.
#[derive(Debug)]
pub(super) struct Lru {
    runs: Vec<Run>,
    spare: Vec<Index>,
    oldest: Index,
    newest: Index,
}

impl Lru {
    pub(super) fn new() -> Self {
        Self {
            runs: Vec::new(),
            spare: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    pub(super) fn oldest(&self) -> Index {
        self.oldest
    }

    pub(super) fn get(&self, run: Index) -> &Run {
        &self.runs[run as usize]
    }

    pub(super) fn get_mut(&mut self, run: Index) -> &mut Run {
        &mut self.runs[run as usize]
    }

    /// Adds the blocks `low..high` of a node as the most recently used ones.
    pub(super) fn push(&mut self, slot: Index, low: u32, high: u32, above: Index) -> Index {
        let run = Run {
            slot,
            low,
            high,
            above,
            older: self.newest,
            newer: NONE,
        };
        let index = match self.spare.pop() {
            Some(index) => {
                self.runs[index as usize] = run;
                index
            }
            None => {
                self.runs.push(run);
                (self.runs.len() - 1) as Index
            }
        };
        match self.newest {
            NONE => self.oldest = index,
            newest => self.runs[newest as usize].newer = index,
        }
        self.newest = index;
        index
    }

    /// Takes a run out of the queue; its index may be used again.
    pub(super) fn unlink(&mut self, index: Index) {
        let Run { older, newer, .. } = self.runs[index as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.runs[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.runs[newer as usize].older = older,
        }
        self.spare.push(index);
    }
}
