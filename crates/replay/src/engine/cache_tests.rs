//! The cache of runs against one of single blocks.

use proptest::prelude::*;

use super::{CacheEventKind, KvCache, Span};

/// Two nodes in a row, as a prompt of both: at most this many blocks each.
const LENGTH: u32 = 4;

/// The same cache, block by block: a list of evictable blocks, least recently used first.
#[derive(Default)]
struct Blocks {
    blank: u32,
    holders: std::collections::HashMap<(u32, u32), u32>,
    resident: std::collections::HashSet<(u32, u32)>,
    evictable: Vec<(u32, u32)>,
    gone: Vec<(u32, u32)>,
}

impl Blocks {
    fn hold(&mut self, node: u32, blocks: u32) {
        for block in 0..blocks {
            *self.holders.entry((node, block)).or_default() += 1;
            self.evictable.retain(|&known| known != (node, block));
        }
    }

    fn release(&mut self, node: u32, blocks: u32) {
        for block in (0..blocks).rev() {
            let holders = self.holders.get_mut(&(node, block)).unwrap();
            *holders -= 1;
            if *holders == 0 {
                self.evictable.push((node, block));
            }
        }
    }

    fn take(&mut self, count: u32) {
        let blank = count.min(self.blank);
        self.blank -= blank;
        for gone in self.evictable.drain(..(count - blank) as usize) {
            self.resident.remove(&gone);
            self.gone.push(gone);
        }
    }

    fn resident_of(&self, node: u32) -> u32 {
        (0..LENGTH)
            .take_while(|&block| self.resident.contains(&(node, block)))
            .count() as u32
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A prompt of so many blocks of node 2n and then of node 2n + 1 arrives.
    Admit {
        family: u32,
        first: u32,
        second: u32,
    },
    /// The request that was admitted as number n (modulo those running) ends.
    End(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let admit = (0..3u32, 1..=LENGTH, 0..=LENGTH).prop_map(|(family, first, second)| {
        // Blocks of the second node exist only behind a complete first one.
        let second = if first == LENGTH { second } else { 0 };
        Step::Admit {
            family,
            first,
            second,
        }
    });
    prop::collection::vec(prop_oneof![admit, (0..8usize).prop_map(Step::End)], 1..60)
}

proptest! {
    #[test]
    fn runs_behave_like_single_blocks(total in 8..24u32, steps in steps()) {
        let mut cache = KvCache::new(total, true);
        let mut blocks = Blocks { blank: total, ..Blocks::default() };
        let mut running: Vec<[(u32, u32); 2]> = Vec::new();
        for step in steps {
            match step {
                Step::Admit { family, first, second } => {
                    let prompt = [(2 * family, first), (2 * family + 1, second)];
                    let spans = prompt.iter().filter(|part| part.1 > 0);
                    let spans = spans.map(|&(node, blocks)| Span { node, blocks });
                    let found = cache.longest_match(spans, first + second);
                    let hits = prompt.map(|(node, wanted)| blocks.resident_of(node).min(wanted));
                    let expected = if hits[0] < first { hits[0] } else { hits[0] + hits[1] };
                    prop_assert_eq!(found.blocks, expected);
                    let needed = first + second - found.blocks;
                    if needed + found.evictable > cache.available() {
                        continue;
                    }
                    let mut left = found.blocks;
                    let held = prompt.map(|(node, wanted)| {
                        let hit = wanted.min(left);
                        left -= hit;
                        if hit > 0 {
                            cache.extend_hold(node, 0, hit);
                            blocks.hold(node, hit);
                        }
                        hit
                    });
                    cache.take(needed);
                    blocks.take(needed);
                    for ((node, wanted), hit) in prompt.into_iter().zip(held) {
                        if wanted > hit {
                            prop_assert_eq!(cache.store(node, hit, wanted), wanted - hit);
                            cache.extend_hold(node, hit, wanted);
                            blocks.resident.extend((hit..wanted).map(|block| (node, block)));
                            blocks.hold(node, wanted);
                            if hit > 0 {
                                // The hold moved on, it was not doubled.
                                for block in 0..hit {
                                    *blocks.holders.get_mut(&(node, block)).unwrap() -= 1;
                                }
                            }
                        }
                    }
                    running.push(prompt);
                }
                Step::End(which) if !running.is_empty() => {
                    let prompt = running.remove(which % running.len());
                    for (node, count) in prompt.into_iter().rev().filter(|part| part.1 > 0) {
                        cache.release(node, count);
                        blocks.release(node, count);
                    }
                }
                Step::End(_) => {}
            }
            prop_assert_eq!(cache.available(), blocks.blank + blocks.evictable.len() as u32);
            let mut gone: Vec<_> = cache
                .events()
                .iter()
                .filter(|event| event.kind == CacheEventKind::Removed)
                .flat_map(|event| (event.low..event.high).map(|block| (event.node, block)))
                .collect();
            gone.sort_unstable();
            blocks.gone.sort_unstable();
            prop_assert_eq!(&gone, &blocks.gone);
            cache.clear_events();
            blocks.gone.clear();
        }
    }
}

#[test]
fn a_copy_of_an_unused_block_is_blank_again_and_one_of_a_used_block_stays() {
    let mut cache = KvCache::new(4, false);
    cache.take(1);
    assert_eq!(cache.store(7, 0, 1), 1);
    cache.extend_hold(7, 0, 1);
    cache.take(1);
    assert_eq!(cache.store(7, 0, 1), 0);
    assert_eq!(cache.available(), 2);
    cache.release(7, 1);
    assert_eq!(cache.available(), 3);
    assert_eq!(cache.store(7, 0, 1), 1);
    assert_eq!(cache.available(), 4);
}

#[test]
fn no_log_is_kept_when_nobody_reads_it() {
    let mut cache = KvCache::new(1, false);
    cache.take(1);
    cache.store(1, 0, 1);
    assert!(cache.events().is_empty());
    let mut cache = KvCache::new(1, true);
    cache.take(1);
    cache.store(1, 0, 1);
    assert_eq!(cache.events().len(), 1);
}
