//! One candidate's side of the index: its bit in the owner sets and the names of its blocks.

use rustc_hash::FxHashMap;

use crate::types::Candidate;

/// Owners of up to 64 candidates: bit i of a set is slot `64 * group + i`.
pub(super) type Table = FxHashMap<u64, u64>;

/// The blocks of one candidate.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) source: Candidate,
    /// Distinct sequence hashes that it owns.
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
}

/// A candidate's slot together with its bit in the table of its group.
pub(super) struct Holder<'a> {
    pub(super) table: &'a mut Table,
    pub(super) bit: u64,
    pub(super) slot: &'a mut Slot,
}

impl Holder<'_> {
    /// Takes `sequence` under the engine hash `name`; false when it was held so already.
    #[inline]
    pub(super) fn store(&mut self, name: u64, sequence: u64) -> bool {
        if name == sequence && self.slot.names.is_none() {
            return self.own(sequence);
        }
        self.store_named(name, sequence)
    }

    /// Drops the block with the engine hash `name`; false when it was not held.
    #[inline]
    pub(super) fn remove(&mut self, name: u64) -> bool {
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
    fn store_named(&mut self, name: u64, sequence: u64) -> bool {
        if self.slot.names.is_none() {
            let owned = self
                .table
                .iter()
                .filter(|(_, owners)| **owners & self.bit != 0);
            let sequence_of = owned.map(|(&hash, _)| (hash, hash)).collect();
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
        if !self.own(sequence) {
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
    fn own(&mut self, sequence: u64) -> bool {
        let owners = self.table.entry(sequence).or_insert(0);
        let new = *owners & self.bit == 0;
        *owners |= self.bit;
        self.slot.blocks += usize::from(new);
        new
    }

    #[inline]
    fn disown(&mut self, sequence: u64) -> bool {
        let Some(owners) = self.table.get_mut(&sequence) else {
            return false;
        };
        if *owners & self.bit == 0 {
            return false;
        }
        *owners &= !self.bit;
        if *owners == 0 {
            self.table.remove(&sequence);
        }
        self.slot.blocks -= 1;
        true
    }

    /// Drops every block; the table keeps what others own.
    pub(super) fn clear(&mut self) {
        if self.slot.blocks > 0 {
            let bit = self.bit;
            self.table.retain(|_, owners| {
                *owners &= !bit;
                *owners != 0
            });
        }
        *self.slot = Slot::new(self.slot.source);
    }

    /// Gives memory back once most of the table is empty.
    pub(super) fn shrink(&mut self) {
        let room = 2 * self.table.len() + 1024;
        if self.table.capacity() > 4 * room {
            self.table.shrink_to(room);
        }
    }
}

/// What the slot holds: (engine hash, sequence hash), in no order.
pub(super) fn held(slot: &Slot, bit: u64, table: &Table) -> Vec<(u64, u64)> {
    match &slot.names {
        Some(names) => names
            .sequence_of
            .iter()
            .map(|(&name, &hash)| (name, hash))
            .collect(),
        None => {
            let owned = table.iter().filter(|(_, owners)| **owners & bit != 0);
            owned.map(|(&hash, _)| (hash, hash)).collect()
        }
    }
}

/// The sequence hash of the block that the slot holds under the engine hash `name`.
pub(super) fn sequence_of(slot: &Slot, bit: u64, table: &Table, name: u64) -> Option<u64> {
    match &slot.names {
        Some(names) => names.sequence_of.get(&name).copied(),
        None => table
            .get(&name)
            .filter(|owners| **owners & bit != 0)
            .map(|_| name),
    }
}
