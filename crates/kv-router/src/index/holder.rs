//! One candidate's side of the index: its bit in the owner sets and the names of its blocks.

use rustc_hash::FxHashMap;

use super::StoredBlock;
use super::table::{BATCH, Table};
use crate::hash::chain;
use crate::types::Candidate;

/// The blocks of one candidate.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) source: Candidate,
    /// Distinct blocks that it owns.
    pub(super) blocks: usize,
    /// `None` while every engine hash was its sequence hash: such engines pay for no names.
    names: Option<Names>,
}

/// Engine hashes that differ from the sequence hash.
#[derive(Clone, Debug, Default)]
struct Names {
    sequence_of: FxHashMap<u64, u64>,
    /// Number of engine hashes of a sequence hash, where it is more than one.
    copies: FxHashMap<u64, usize>,
}

impl Slot {
    pub(super) fn new(source: Candidate) -> Self {
        Self {
            source,
            blocks: 0,
            names: None,
        }
    }

    /// The sequence hash of the block that the slot holds under the engine hash `name`.
    pub(super) fn sequence_of(&self, table: &Table, bit: u64, name: u64) -> Option<u64> {
        match &self.names {
            Some(names) => names.sequence_of.get(&name).copied(),
            None => (table.owners(name) & bit != 0).then_some(name),
        }
    }

    /// What the slot holds: (engine hash, sequence hash), in no order.
    pub(super) fn held(&self, table: &Table, bit: u64) -> Vec<(u64, u64)> {
        match &self.names {
            Some(names) => names
                .sequence_of
                .iter()
                .map(|(&name, &hash)| (name, hash))
                .collect(),
            None => owned(table, bit).map(|hash| (hash, hash)).collect(),
        }
    }
}

fn owned(table: &Table, bit: u64) -> impl Iterator<Item = u64> {
    table
        .iter()
        .filter(move |(_, owners)| owners & bit != 0)
        .map(|(hash, _)| hash)
}

/// A candidate's slot together with its bit in the table of its group.
pub(super) struct Holder<'a> {
    pub(super) table: &'a mut Table,
    pub(super) bit: u64,
    pub(super) slot: &'a mut Slot,
}

impl Holder<'_> {
    /// Takes a chain behind the block with sequence hash `parent`; gives the number of blocks
    /// that were not held before.
    pub(super) fn store(&mut self, mut parent: Option<u64>, blocks: &[StoredBlock]) -> usize {
        let mut new = 0;
        for batch in blocks.chunks(BATCH) {
            self.table.warm(batch.iter().map(|block| block.block_hash));
            for block in batch {
                let sequence = chain(parent, block.tokens_hash);
                new += usize::from(self.take(block.block_hash, sequence));
                parent = Some(sequence);
            }
        }
        new
    }

    /// Drops blocks by engine hash; gives the number of those that were held.
    pub(super) fn remove(&mut self, names: &[u64]) -> usize {
        let mut held = 0;
        for batch in names.chunks(BATCH) {
            self.table.warm(batch.iter().copied());
            held += batch.iter().filter(|name| self.drop_name(**name)).count();
        }
        self.table.shrink();
        held
    }

    /// Takes one block; false when it was held under that name already.
    #[inline]
    pub(super) fn take(&mut self, name: u64, sequence: u64) -> bool {
        if name == sequence && self.slot.names.is_none() {
            let new = self.table.own(sequence, self.bit);
            self.slot.blocks += usize::from(new);
            return new;
        }
        self.take_named(name, sequence)
    }

    #[inline]
    fn drop_name(&mut self, name: u64) -> bool {
        let Some(names) = &mut self.slot.names else {
            return self.disown(name);
        };
        let Some(sequence) = names.sequence_of.remove(&name) else {
            return false;
        };
        self.drop_copy(sequence);
        true
    }

    #[cold]
    fn take_named(&mut self, name: u64, sequence: u64) -> bool {
        if self.slot.names.is_none() {
            let sequence_of = owned(self.table, self.bit)
                .map(|hash| (hash, hash))
                .collect();
            self.slot.names = Some(Names {
                sequence_of,
                ..Names::default()
            });
        }
        let names = self.slot.names.get_or_insert_default();
        match names.sequence_of.insert(name, sequence) {
            Some(old) if old == sequence => return false,
            // The engine gave the name to another block: the old one is gone.
            Some(old) => self.drop_copy(old),
            None => {}
        }
        if self.table.own(sequence, self.bit) {
            self.slot.blocks += 1;
        } else {
            let names = self.slot.names.get_or_insert_default();
            *names.copies.entry(sequence).or_insert(1) += 1;
        }
        true
    }

    fn drop_copy(&mut self, sequence: u64) {
        let names = self.slot.names.get_or_insert_default();
        match names.copies.get_mut(&sequence) {
            None => {
                self.disown(sequence);
            }
            Some(2) => {
                names.copies.remove(&sequence);
            }
            Some(copies) => *copies -= 1,
        }
    }

    #[inline]
    fn disown(&mut self, sequence: u64) -> bool {
        let held = self.table.disown(sequence, self.bit);
        self.slot.blocks -= usize::from(held);
        held
    }

    /// Drops every block.
    pub(super) fn clear(&mut self) {
        if self.slot.blocks > 0 {
            self.table.disown_all(self.bit);
            self.table.shrink();
        }
        *self.slot = Slot::new(self.slot.source);
    }
}
