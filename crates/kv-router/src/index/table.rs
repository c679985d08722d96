//! The table from sequence hash to owners.
//!
//! Blocks come in chains of hundreds, and each is a cache miss of its own. So an entry is found in
//! one cache line most of the time: the table is an array of buckets of a line each, with four
//! entries, and an entry whose bucket is full goes to the next one. Each bucket counts the entries
//! that went past it, so that a search ends where none did, and removal moves nothing. And chains
//! are handled in batches whose lines are all read once before they are used: those reads do not
//! depend on each other, so the memory serves them at the same time.

use std::hint::black_box;

/// How many blocks are handled at a time.
pub(super) const BATCH: usize = 32;

/// Entries of a bucket: as many as a cache line holds.
const WIDTH: usize = 4;

/// Fewest buckets of a table.
const SMALLEST: usize = 4;

/// A cache line of entries; one without owners is free.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket {
    hashes: [u64; WIDTH],
    owners: [u64; WIDTH],
}

impl Bucket {
    /// Where the hash is; [`WIDTH`] when it is not here.
    #[inline]
    fn position(&self, hash: u64) -> usize {
        // Looks at all entries: where a match is cannot be predicted, that there is one can.
        let matches = |i: &usize| (self.hashes[*i] == hash) & (self.owners[*i] != 0);
        (0..WIDTH).fold(WIDTH, |found, i| if matches(&i) { i } else { found })
    }

    /// A free entry; [`WIDTH`] when there is none.
    #[inline]
    fn free(&self) -> usize {
        (0..WIDTH).fold(
            WIDTH,
            |found, i| if self.owners[i] == 0 { i } else { found },
        )
    }
}

/// Owners of up to 64 candidates, one bit each. No key maps to an empty set.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// A power of two of buckets.
    buckets: Vec<Bucket>,
    /// By bucket: entries that would be in it or before it and are behind it. A count that
    /// reaches the end of its range stays there.
    passed: Vec<u16>,
    len: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self::with_buckets(SMALLEST)
    }
}

impl Table {
    fn with_buckets(buckets: usize) -> Self {
        Self {
            buckets: vec![Bucket::default(); buckets],
            passed: vec![0; buckets],
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        // The hashes of first blocks come from outside and may be small numbers.
        let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (64 - self.buckets.len().trailing_zeros())) as usize
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }

    #[inline]
    fn find(&self, hash: u64) -> Option<(usize, usize)> {
        let mut bucket = self.home(hash);
        for _ in 0..self.buckets.len() {
            let position = self.buckets[bucket].position(hash);
            if position < WIDTH {
                return Some((bucket, position));
            }
            if self.passed[bucket] == 0 {
                break;
            }
            bucket = self.next(bucket);
        }
        None
    }

    /// Reads the buckets of a batch, so that they are near when they are needed.
    #[inline]
    pub(super) fn warm(&self, hashes: impl Iterator<Item = u64>) {
        black_box(hashes.fold(0, |sum, hash| sum ^ self.buckets[self.home(hash)].hashes[0]));
    }

    /// The owners of a block.
    #[inline]
    pub(super) fn owners(&self, hash: u64) -> u64 {
        self.find(hash).map_or(0, |(bucket, position)| {
            self.buckets[bucket].owners[position]
        })
    }

    /// Adds an owner; false when it was one already.
    #[inline]
    pub(super) fn own(&mut self, hash: u64, bit: u64) -> bool {
        let home = self.home(hash);
        let bucket = &mut self.buckets[home];
        let (position, free) = (bucket.position(hash), bucket.free());
        if position == WIDTH && free < WIDTH && self.passed[home] == 0 {
            bucket.hashes[free] = hash;
            bucket.owners[free] = bit;
            self.grow();
            return true;
        }
        let Some((bucket, position)) = self.find(hash) else {
            self.insert(hash, bit);
            self.grow();
            return true;
        };
        let owners = &mut self.buckets[bucket].owners[position];
        let new = *owners & bit == 0;
        *owners |= bit;
        new
    }

    /// Counts a new entry and makes room for the next one.
    #[inline]
    fn grow(&mut self) {
        self.len += 1;
        // At most 5/8 full: few entries are not in the bucket where they are looked for first.
        if self.len * 8 > self.buckets.len() * WIDTH * 5 {
            self.resize(self.buckets.len() * 2);
        }
    }

    /// Puts an entry that is not there into the first bucket with room.
    fn insert(&mut self, hash: u64, owners: u64) {
        let mut bucket = self.home(hash);
        loop {
            let free = self.buckets[bucket].free();
            if free < WIDTH {
                self.buckets[bucket].hashes[free] = hash;
                self.buckets[bucket].owners[free] = owners;
                return;
            }
            self.passed[bucket] = self.passed[bucket].saturating_add(1);
            bucket = self.next(bucket);
        }
    }

    /// Takes an owner away; false when it was none.
    #[inline]
    pub(super) fn disown(&mut self, hash: u64, bit: u64) -> bool {
        let Some((bucket, position)) = self.find(hash) else {
            return false;
        };
        let owners = &mut self.buckets[bucket].owners[position];
        if *owners & bit == 0 {
            return false;
        }
        *owners &= !bit;
        if *owners == 0 {
            self.len -= 1;
            let mut passed = self.home(hash);
            while passed != bucket {
                if self.passed[passed] < u16::MAX {
                    self.passed[passed] -= 1;
                }
                passed = self.next(passed);
            }
        }
        true
    }

    /// Takes an owner away from every block.
    pub(super) fn disown_all(&mut self, bit: u64) {
        for owners in self
            .buckets
            .iter_mut()
            .flat_map(|bucket| &mut bucket.owners)
        {
            *owners &= !bit;
        }
        self.resize(self.buckets.len());
    }

    /// Gives memory back once most of the table is free.
    pub(super) fn shrink(&mut self) {
        let target = self.len.next_power_of_two().max(256);
        if target * 4 <= self.buckets.len() {
            self.resize(target);
        }
    }

    fn resize(&mut self, buckets: usize) {
        let old = std::mem::replace(self, Self::with_buckets(buckets));
        for (hash, owners) in old.iter() {
            self.insert(hash, owners);
            self.len += 1;
        }
    }

    /// Every block with its owners, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let entries = self.buckets.iter().flat_map(|bucket| {
            bucket
                .hashes
                .iter()
                .copied()
                .zip(bucket.owners.iter().copied())
        });
        entries.filter(|(_, owners)| *owners != 0)
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
    fn hashes_that_all_want_one_bucket_are_found_and_forgotten() {
        // Five Newton steps invert the multiplier of `home` modulo 2^64.
        let step = |inverse: u64, _| {
            inverse.wrapping_mul(2u64.wrapping_sub(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(inverse)))
        };
        let inverse = (0..5).fold(0x9E37_79B9_7F4A_7C15u64, step);
        let hash = |i: u64| inverse.wrapping_mul(i);
        let mut table = Table::default();
        assert!((0..1000).all(|i| table.home(hash(i)) == 0));
        assert!((0..1000).all(|i| table.own(hash(i), 1 << (i % 64))));
        assert!((0..1000).all(|i| table.owners(hash(i)) == 1 << (i % 64)));
        assert_eq!(table.owners(hash(1000)), 0);
        for i in (0..1000).step_by(2).chain((0..1000).skip(1).step_by(2)) {
            assert!(table.disown(hash(i), 1 << (i % 64)), "{i}");
        }
        assert_eq!(table.len(), 0);
        assert!(table.passed.iter().all(|count| *count == 0));
    }

    #[test]
    fn memory_returns_when_emptied() {
        let mut table = Table::default();
        (0..100_000).for_each(|hash| {
            table.own(hash, 1);
        });
        let full = table.buckets.len();
        (0..100_000).for_each(|hash| {
            table.disown(hash, 1);
        });
        table.shrink();
        assert_eq!(table.len(), 0);
        assert!(table.buckets.len() * 16 <= full);
    }
}
