//! The prefix index.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::*;
use kv_router::{Candidate, ErrorKind, KvEvent, RadixTree, StoredBlock};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

fn stored(tree: &mut RadixTree, source: Candidate, family: u64, from: usize, to: usize) {
    let parent_hash = from.checked_sub(1).map(|last| chain(family, to)[last]);
    let event = KvEvent::Stored {
        parent_hash,
        blocks: &blocks(family, from, to),
    };
    tree.apply(source, event).expect("the parent is held");
}

fn removed(tree: &mut RadixTree, source: Candidate, block_hashes: &[u64]) {
    tree.apply(source, KvEvent::Removed { block_hashes })
        .expect("removal never fails");
}

fn matches(tree: &RadixTree, hashes: &[u64]) -> Vec<(Candidate, u32)> {
    let mut found = Vec::new();
    tree.find_matches(hashes, false, &mut found);
    found
}

#[test]
fn scores_are_consecutive_blocks_per_candidate() {
    let mut tree = RadixTree::new();
    stored(&mut tree, at(1, 0), 1, 0, 8);
    stored(&mut tree, at(0, 1), 1, 0, 3);
    stored(&mut tree, at(2, 0), 2, 0, 8);
    assert_eq!(
        matches(&tree, &chain(1, 100)),
        [(at(0, 1), 3), (at(1, 0), 8)]
    );
    assert_eq!(matches(&tree, &chain(1, 2)), [(at(0, 1), 2), (at(1, 0), 2)]);
    assert_eq!(matches(&tree, &[]), []);
    assert_eq!(matches(&tree, &chain(3, 5)), []);
}

#[test]
fn scores_are_sorted_though_slots_are_reused_and_groups_are_many() {
    let mut tree = RadixTree::new();
    for worker in (0..150).rev() {
        stored(&mut tree, at(worker, 0), 1, 0, 1 + worker as usize % 7);
    }
    tree.remove_candidate(at(3, 0));
    stored(&mut tree, at(200, 0), 1, 0, 9);
    let mut expected: Vec<_> = (0..150).map(|w| (at(w, 0), 1 + w % 7)).collect();
    expected.remove(3);
    expected.push((at(200, 0), 9));
    assert_eq!(matches(&tree, &chain(1, 20)), expected);
}

#[test]
fn a_hole_ends_the_match_and_filling_it_mends_it() {
    let mut tree = RadixTree::new();
    stored(&mut tree, at(0, 0), 1, 0, 8);
    removed(&mut tree, at(0, 0), &[chain(1, 8)[3]]);
    assert_eq!(matches(&tree, &chain(1, 8)), [(at(0, 0), 3)]);
    removed(&mut tree, at(0, 0), &[chain(1, 8)[0]]);
    assert_eq!(matches(&tree, &chain(1, 8)), []);
    stored(&mut tree, at(0, 0), 1, 0, 4);
    assert_eq!(matches(&tree, &chain(1, 8)), [(at(0, 0), 8)]);
}

#[test]
fn early_exit_names_the_best_candidate() {
    let mut tree = RadixTree::new();
    stored(&mut tree, at(0, 0), 1, 0, 4);
    stored(&mut tree, at(1, 0), 1, 0, 20);
    let mut found = Vec::new();
    tree.find_matches(&chain(1, 20), true, &mut found);
    assert_eq!(found[0], (at(0, 0), 4));
    assert!(
        found[1].0 == at(1, 0) && (5..20).contains(&found[1].1),
        "{found:?}"
    );
}

#[test]
fn refused_events_change_nothing() {
    let mut tree = RadixTree::new();
    stored(&mut tree, at(0, 0), 1, 0, 4);
    let before = (tree.dump(), tree.counters());
    let strange = KvEvent::Stored {
        parent_hash: Some(42),
        blocks: &blocks(2, 1, 3),
    };
    assert_eq!(
        kind(tree.apply(at(0, 0), strange)),
        ErrorKind::ParentNotFound
    );
    // Held, but by another rank.
    let parent_hash = Some(chain(1, 4)[3]);
    let elsewhere = KvEvent::Stored {
        parent_hash,
        blocks: &blocks(1, 4, 5),
    };
    assert_eq!(
        kind(tree.apply(at(0, 1), elsewhere)),
        ErrorKind::ParentNotFound
    );
    let own_parent = StoredBlock {
        block_hash: chain(1, 4)[3],
        tokens_hash: 1,
    };
    let event = KvEvent::Stored {
        parent_hash,
        blocks: &[own_parent],
    };
    assert_eq!(kind(tree.apply(at(0, 0), event)), ErrorKind::SelfParent);
    let twice = [StoredBlock {
        block_hash: 5,
        tokens_hash: 5,
    }; 2];
    let event = KvEvent::Stored {
        parent_hash: None,
        blocks: &twice,
    };
    assert_eq!(kind(tree.apply(at(0, 0), event)), ErrorKind::SelfParent);
    assert_eq!((tree.dump(), tree.counters()), before);
    stored(&mut tree, at(0, 0), 1, 4, 5);
}

#[test]
fn engines_may_use_names_of_their_own() {
    let mut tree = RadixTree::new();
    let named = |names: &[u64], family| -> Vec<StoredBlock> {
        let locals = local(family, names.len());
        let pairs = names.iter().zip(locals);
        pairs
            .map(|(&block_hash, tokens_hash)| StoredBlock {
                block_hash,
                tokens_hash,
            })
            .collect()
    };
    let blocks = named(&[1, 2, 3], 1);
    let first = KvEvent::Stored {
        parent_hash: None,
        blocks: &blocks[..2],
    };
    tree.apply(at(0, 0), first).expect("it is new");
    let rest = KvEvent::Stored {
        parent_hash: Some(2),
        blocks: &blocks[2..],
    };
    tree.apply(at(0, 0), rest).expect("the parent is held");
    assert_eq!(matches(&tree, &chain(1, 3)), [(at(0, 0), 3)]);
    // A second copy of the first block under another name: the block is gone with the last one.
    let copy = KvEvent::Stored {
        parent_hash: None,
        blocks: &named(&[9], 1),
    };
    tree.apply(at(0, 0), copy).expect("it is new");
    let dump = tree.dump();
    assert_eq!(RadixTree::restore(&dump).dump(), dump);
    removed(&mut tree, at(0, 0), &[1]);
    assert_eq!(matches(&tree, &chain(1, 3)), [(at(0, 0), 3)]);
    removed(&mut tree, at(0, 0), &[chain(1, 1)[0]]);
    assert_eq!(
        matches(&tree, &chain(1, 3)),
        [(at(0, 0), 3)],
        "not a name that it uses"
    );
    removed(&mut tree, at(0, 0), &[9]);
    assert_eq!(matches(&tree, &chain(1, 3)), []);
    removed(&mut tree, at(0, 0), &[2, 3]);
    assert_eq!((tree.len(), tree.blocks_of(at(0, 0))), (0, 0));
}

#[test]
fn a_name_given_to_another_block_drops_the_old_one() {
    let mut tree = RadixTree::new();
    for family in [1, 2] {
        let block = StoredBlock {
            block_hash: 7,
            tokens_hash: local(family, 1)[0],
        };
        let event = KvEvent::Stored {
            parent_hash: None,
            blocks: &[block],
        };
        tree.apply(at(0, 0), event)
            .expect("it is no parent of itself");
    }
    assert_eq!(matches(&tree, &chain(1, 1)), []);
    assert_eq!(matches(&tree, &chain(2, 1)), [(at(0, 0), 1)]);
}

#[test]
fn more_than_64_candidates_match_like_few() {
    let mut tree = RadixTree::new();
    for worker in 0..200 {
        stored(
            &mut tree,
            at(worker, worker % 3),
            1,
            0,
            1 + worker as usize % 5,
        );
    }
    let expected: Vec<_> = (0..200)
        .map(|worker| (at(worker, worker % 3), 1 + worker % 5))
        .collect();
    assert_eq!(matches(&tree, &chain(1, 9)), expected);
    (0..200).for_each(|worker| tree.remove_worker(worker));
    assert_eq!((tree.len(), tree.sources()), (0, vec![]));
}

#[test]
fn clear_and_worker_removal_leave_the_others() {
    let mut tree = RadixTree::new();
    for source in [at(0, 0), at(0, 1), at(1, 0)] {
        stored(&mut tree, source, 1, 0, 4);
    }
    tree.apply(at(0, 0), KvEvent::Cleared)
        .expect("it never fails");
    assert_eq!(matches(&tree, &chain(1, 4)), [(at(0, 1), 4), (at(1, 0), 4)]);
    tree.remove_worker(0);
    assert_eq!(matches(&tree, &chain(1, 4)), [(at(1, 0), 4)]);
    tree.remove_candidate(at(1, 0));
    assert!(tree.is_empty() && tree.sources().is_empty());
}

/// (source, what, family, from, to) on few candidates and prompts.
fn event() -> impl Strategy<Value = (Candidate, u8, u64, usize, usize)> {
    let source = (0..3u32, 0..2u32).prop_map(|(worker, rank)| at(worker, rank));
    (source, 0..10u8, 0..3u64, 0..10usize, 0..10usize)
}

proptest! {
    #![proptest_config(Config {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })]

    /// Against sets of (candidate, block), dump and restore included.
    #[test]
    fn equals_sets_of_blocks(events in prop::collection::vec(event(), 0..120)) {
        let mut tree = RadixTree::new();
        let mut model: BTreeMap<Candidate, BTreeSet<u64>> = BTreeMap::new();
        for (source, what, family, from, to) in events {
            let (from, to) = (from.min(to), to);
            let hashes = chain(family, to);
            let held = model.entry(source).or_default();
            match what {
                0..=5 => {
                    let parent_hash = from.checked_sub(1).map(|last| hashes[last]);
                    let blocks = blocks(family, from, to);
                    let event = KvEvent::Stored { parent_hash, blocks: &blocks };
                    let fits = parent_hash.is_none_or(|parent| held.contains(&parent));
                    prop_assert_eq!(tree.apply(source, event).is_ok(), fits);
                    if fits {
                        held.extend(&hashes[from..]);
                    }
                }
                6..=8 => {
                    removed(&mut tree, source, &hashes[from..]);
                    held.retain(|hash| !hashes[from..].contains(hash));
                }
                _ => {
                    tree.apply(source, KvEvent::Cleared).expect("it never fails");
                    held.clear();
                }
            }
            let distinct: BTreeSet<_> = model.values().flatten().collect();
            prop_assert_eq!(tree.len(), distinct.len());
        }
        let restored = RadixTree::restore(&tree.dump());
        for family in 0..3 {
            let hashes = chain(family, 10);
            let score = |held: &BTreeSet<u64>| {
                hashes.iter().take_while(|hash| held.contains(hash)).count() as u32
            };
            let scores = model.iter().map(|(&source, held)| (source, score(held)));
            let expected: Vec<_> = scores.filter(|(_, score)| *score > 0).collect();
            prop_assert_eq!(&matches(&tree, &hashes), &expected);
            prop_assert_eq!(&matches(&restored, &hashes), &expected);
        }
    }
}
