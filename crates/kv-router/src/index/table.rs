//! The table from sequence hash to owners: open addressing with linear probing.
//!
//! Blocks come in chains of hundreds, and each is a cache miss of its own. Chains are therefore
//! handled in batches whose slots are all read once before they are used: those reads do not
//! depend on each other, so the memory serves them at the same time.

use std::hint::black_box;

/// How many blocks are handled at a time.
pub(super) const BATCH: usize = 32;

/// An entry; free when it has no owners.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    hash: u64,
    owners: u64,
}

/// Owners of up to 64 candidates, one bit each. No key maps to an empty set.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// A power of two of entries.
    entries: Vec<Entry>,
    len: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            entries: vec![Entry::default(); 16],
            len: 0,
        }
    }
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        // The hashes of first blocks come from outside and may be small numbers.
        let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (64 - self.entries.len().trailing_zeros())) as usize
    }

    /// Position of the hash, or of the free entry where it would go.
    #[inline]
    fn find(&self, hash: u64) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = self.home(hash);
        while self.entries[at].owners != 0 && self.entries[at].hash != hash {
            at = (at + 1) & mask;
        }
        at
    }

    /// Reads the entries of a batch, so that they are near when they are needed.
    #[inline]
    pub(super) fn warm(&self, hashes: impl Iterator<Item = u64>) {
        black_box(hashes.fold(0, |sum, hash| sum ^ self.entries[self.home(hash)].owners));
    }

    /// The owners of a block.
    #[inline]
    pub(super) fn owners(&self, hash: u64) -> u64 {
        self.entries[self.find(hash)].owners
    }

    /// Adds an owner; false when it was one already.
    #[inline]
    pub(super) fn own(&mut self, hash: u64, bit: u64) -> bool {
        let at = self.find(hash);
        let entry = &mut self.entries[at];
        if entry.owners & bit != 0 {
            return false;
        }
        if entry.owners == 0 {
            entry.hash = hash;
            self.len += 1;
        }
        entry.owners |= bit;
        // At most 5/8 full: probes stay within a cache line or two.
        if self.len * 8 > self.entries.len() * 5 {
            self.resize(self.entries.len() * 2);
        }
        true
    }

    /// Takes an owner away; false when it was none.
    #[inline]
    pub(super) fn disown(&mut self, hash: u64, bit: u64) -> bool {
        let at = self.find(hash);
        let entry = &mut self.entries[at];
        if entry.owners & bit == 0 {
            return false;
        }
        entry.owners &= !bit;
        if entry.owners == 0 {
            self.len -= 1;
            self.close_gap(at);
        }
        true
    }

    /// Moves entries behind a freed one forward, so that every probe still ends where it should.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.entries.len() - 1;
        let mut at = (gap + 1) & mask;
        while self.entries[at].owners != 0 {
            let home = self.home(self.entries[at].hash);
            // The entry may move when its home is not between the gap and itself.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.entries[gap] = self.entries[at];
                self.entries[at].owners = 0;
                gap = at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Takes an owner away from every block.
    pub(super) fn disown_all(&mut self, bit: u64) {
        self.len = 0;
        for entry in &mut self.entries {
            entry.owners &= !bit;
            self.len += usize::from(entry.owners != 0);
        }
        self.resize(self.entries.len());
    }

    /// Gives memory back once most of the table is free.
    pub(super) fn shrink(&mut self) {
        let target = (self.len * 4).next_power_of_two().max(1024);
        if target * 4 <= self.entries.len() {
            self.resize(target);
        }
    }

    fn resize(&mut self, entries: usize) {
        let old = std::mem::replace(&mut self.entries, vec![Entry::default(); entries]);
        for entry in old.into_iter().filter(|entry| entry.owners != 0) {
            let at = self.find(entry.hash);
            self.entries[at] = entry;
        }
    }

    /// Every block with its owners, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let used = self.entries.iter().filter(|entry| entry.owners != 0);
        used.map(|entry| (entry.hash, entry.owners))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    use super::Table;

    proptest! {
    #![proptest_config(Config {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })]

        /// Against a plain map, with few hashes so that probes collide and wrap around.
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((0u64..40, 0u32..4, 0u8..8), 0..400)) {
            let mut table = Table::default();
            let mut model: HashMap<u64, u64> = HashMap::new();
            for (hash, bit, action) in steps {
                let bit = 1u64 << bit;
                let owners = model.entry(hash).or_insert(0);
                match action {
                    0..=3 => {
                        prop_assert_eq!(table.own(hash, bit), *owners & bit == 0);
                        *owners |= bit;
                    }
                    4..=6 => {
                        prop_assert_eq!(table.disown(hash, bit), *owners & bit != 0);
                        *owners &= !bit;
                    }
                    _ => {
                        table.disown_all(bit);
                        table.shrink();
                        model.values_mut().for_each(|owners| *owners &= !bit);
                    }
                }
                model.retain(|_, owners| *owners != 0);
                prop_assert_eq!(table.len(), model.len());
                for hash in 0..40 {
                    prop_assert_eq!(table.owners(hash), model.get(&hash).copied().unwrap_or(0));
                }
            }
            prop_assert_eq!(table.iter().collect::<HashMap<_, _>>(), model);
        }
    }

    #[test]
    fn memory_returns_when_emptied() {
        let mut table = Table::default();
        (0..100_000).for_each(|hash| {
            table.own(hash, 1);
        });
        let full = table.entries.len();
        (0..100_000).for_each(|hash| {
            table.disown(hash, 1);
        });
        table.shrink();
        assert_eq!(table.len(), 0);
        assert!(table.entries.len() * 16 <= full);
    }
}
