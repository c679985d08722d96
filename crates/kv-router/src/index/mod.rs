//! The prefix index: which candidate holds which block.
//!
//! A sequence hash names a block together with everything before it, so the tree of prefixes
//! needs no nodes or edges: it is a table from sequence hash to the set of its owners. A match is
//! a walk over the request's own hashes that intersects those sets, and a hole ends it by itself.
//! Candidates are numbered and 64 of them share one table, whose sets are single words.

mod holder;
mod table;

use rustc_hash::FxHashMap;

use crate::error::{ErrorKind, RouterError};
use crate::types::{Candidate, WorkerId};
use holder::{Holder, Slot};
use table::{BATCH, Table};

/// A change of one candidate's cache.
#[derive(Clone, Copy, Debug)]
pub enum KvEvent<'a> {
    /// A chain of blocks was stored behind `parent_hash`.
    Stored {
        /// Engine hash of the block before the first; `None` at the start of a prompt.
        parent_hash: Option<u64>,
        /// The blocks, each the parent of the next.
        blocks: &'a [StoredBlock],
    },
    /// Blocks were evicted.
    Removed {
        /// Their engine hashes.
        block_hashes: &'a [u64],
    },
    /// The candidate's cache was emptied.
    Cleared,
}

/// One block of a stored event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlock {
    /// The engine's name of the block. Engines that use the sequence hash itself are fastest.
    pub block_hash: u64,
    /// Hash of the block's tokens (see [`crate::block_hashes`]).
    pub tokens_hash: u64,
}

/// What events did that an operator may want to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexCounters {
    /// Blocks that were stored.
    pub stored: u64,
    /// Blocks that were stored though their source held them already (harmless).
    pub duplicate_stored: u64,
    /// Blocks that were removed.
    pub removed: u64,
    /// Blocks that were removed though their source did not hold them (harmless).
    pub unknown_removed: u64,
}

/// One row of a dump: `source` holds a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedBlock {
    /// The holder.
    pub source: Candidate,
    /// The engine's name of the block.
    pub block_hash: u64,
    /// Its sequence hash: what the block is.
    pub sequence_hash: u64,
}

/// The prefix index over all candidates.
#[derive(Clone, Debug, Default)]
pub struct RadixTree {
    tables: Vec<Table>,
    slots: Vec<Option<Slot>>,
    slot_of: FxHashMap<Candidate, usize>,
    counters: IndexCounters,
}

impl RadixTree {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies one event of `source`.
    ///
    /// # Errors
    /// `ParentNotFound`, `SelfParent`; the index is unchanged then.
    pub fn apply(&mut self, source: Candidate, event: KvEvent<'_>) -> Result<(), RouterError> {
        match event {
            KvEvent::Stored {
                parent_hash,
                blocks,
            } => {
                return self.store(source, parent_hash, blocks);
            }
            KvEvent::Removed { block_hashes } => self.remove(source, block_hashes),
            KvEvent::Cleared => self.clear(source),
        }
        Ok(())
    }

    fn store(
        &mut self,
        source: Candidate,
        parent_hash: Option<u64>,
        blocks: &[StoredBlock],
    ) -> Result<(), RouterError> {
        let parent = match parent_hash {
            None => None,
            Some(hash) => Some(self.sequence_of(source, hash).ok_or_else(|| {
                let expected = format!("a block that {source} holds, or none");
                RouterError::new(ErrorKind::ParentNotFound, "parent_hash", hash, expected)
            })?),
        };
        let mut before = parent_hash;
        for block in blocks {
            if before == Some(block.block_hash) {
                return Err(RouterError::new(
                    ErrorKind::SelfParent,
                    "block_hash",
                    block.block_hash,
                    "a block that is not its own parent",
                ));
            }
            before = Some(block.block_hash);
        }
        if blocks.is_empty() {
            return Ok(());
        }
        let stored = self.holder(source).store(parent, blocks) as u64;
        self.counters.stored += stored;
        self.counters.duplicate_stored += blocks.len() as u64 - stored;
        Ok(())
    }

    fn remove(&mut self, source: Candidate, hashes: &[u64]) {
        let known = self.slot_of.contains_key(&source);
        let removed = if known {
            self.holder(source).remove(hashes) as u64
        } else {
            0
        };
        self.counters.removed += removed;
        self.counters.unknown_removed += hashes.len() as u64 - removed;
    }

    fn clear(&mut self, source: Candidate) {
        if self.slot_of.contains_key(&source) {
            self.holder(source).clear();
        }
    }

    /// Forgets everything about `source`.
    pub fn remove_candidate(&mut self, source: Candidate) {
        self.clear(source);
        if let Some(index) = self.slot_of.remove(&source) {
            self.slots[index] = None;
        }
    }

    /// Forgets everything about all ranks of `worker`.
    pub fn remove_worker(&mut self, worker: WorkerId) {
        for source in self.sources() {
            if source.worker_id == worker {
                self.remove_candidate(source);
            }
        }
    }

    /// How many consecutive blocks from the start each candidate holds, by candidate; candidates
    /// without the first block are left out. `found` is emptied first.
    ///
    /// With `early_exit` the walk ends as soon as one candidate is left (of each 64), whose count
    /// is then a lower bound: enough to know the best one, not how good it is.
    pub fn find_matches(
        &self,
        sequence_hashes: &[u64],
        early_exit: bool,
        found: &mut Vec<(Candidate, u32)>,
    ) {
        found.clear();
        for (group, table) in self.tables.iter().enumerate() {
            let first = sequence_hashes
                .first()
                .map_or(0, |hash| table.owners(*hash));
            if first == 0 {
                continue;
            }
            // Kept per bit and reported in order of the slots, which is mostly that of the
            // candidates: there is little left to sort.
            let mut depths = [0; 64];
            let mut leave = |mut set: u64, depth: u32| {
                while set != 0 {
                    depths[set.trailing_zeros() as usize] = depth;
                    set &= set - 1;
                }
            };
            let (mut set, mut depth) = (first, 0);
            'walk: for batch in sequence_hashes.chunks(BATCH) {
                table.warm(batch.iter().copied());
                for hash in batch {
                    let owners = table.owners(*hash);
                    if set & !owners != 0 {
                        leave(set & !owners, depth);
                        set &= owners;
                        if set == 0 {
                            break 'walk;
                        }
                    }
                    depth += 1;
                    if early_exit && set.is_power_of_two() {
                        break 'walk;
                    }
                }
            }
            leave(set, depth);
            found.reserve(first.count_ones() as usize);
            let mut left = first;
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                found.push((self.live(group * 64 + bit).source, depths[bit]));
                left &= left - 1;
            }
        }
        found.sort_unstable();
    }

    /// Number of distinct blocks; 0 when everything stored was removed.
    pub fn len(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    /// Whether no candidate holds a block.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of distinct blocks of one candidate.
    pub fn blocks_of(&self, source: Candidate) -> usize {
        self.slot_of
            .get(&source)
            .map_or(0, |&slot| self.live(slot).blocks)
    }

    /// Every candidate that ever sent an event and was not removed, sorted.
    pub fn sources(&self) -> Vec<Candidate> {
        let mut sources: Vec<_> = self.slot_of.keys().copied().collect();
        sources.sort_unstable();
        sources
    }

    /// What events did so far.
    pub fn counters(&self) -> IndexCounters {
        self.counters
    }

    /// Every held block, sorted. [`RadixTree::restore`] makes an equal index of it, holes included.
    pub fn dump(&self) -> Vec<OwnedBlock> {
        let mut rows = Vec::new();
        for (&source, &slot) in &self.slot_of {
            let held = self
                .live(slot)
                .held(&self.tables[slot / 64], 1 << (slot % 64));
            rows.extend(
                held.into_iter()
                    .map(|(block_hash, sequence_hash)| OwnedBlock {
                        source,
                        block_hash,
                        sequence_hash,
                    }),
            );
        }
        rows.sort_unstable();
        rows
    }

    /// The index that [`RadixTree::dump`] gave these rows of.
    pub fn restore(rows: &[OwnedBlock]) -> Self {
        let mut tree = Self::new();
        for row in rows {
            tree.holder(row.source)
                .take(row.block_hash, row.sequence_hash);
        }
        tree
    }

    fn sequence_of(&self, source: Candidate, name: u64) -> Option<u64> {
        let &slot = self.slot_of.get(&source)?;
        self.live(slot)
            .sequence_of(&self.tables[slot / 64], 1 << (slot % 64), name)
    }

    fn live(&self, slot: usize) -> &Slot {
        self.slots[slot].as_ref().expect("slot_of names live slots")
    }

    fn holder(&mut self, source: Candidate) -> Holder<'_> {
        let slot = match self.slot_of.get(&source) {
            Some(&slot) => slot,
            None => {
                let free = self.slots.iter().position(Option::is_none);
                let slot = free.unwrap_or(self.slots.len());
                if slot == self.slots.len() {
                    self.slots.push(None);
                }
                if slot / 64 == self.tables.len() {
                    self.tables.push(Table::default());
                }
                self.slots[slot] = Some(Slot::new(source));
                self.slot_of.insert(source, slot);
                slot
            }
        };
        Holder {
            table: &mut self.tables[slot / 64],
            bit: 1 << (slot % 64),
            slot: self.slots[slot].as_mut().expect("slot_of names live slots"),
        }
    }
}
