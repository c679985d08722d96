//! Faults that routers of this kind had, in the index and its events: each test keeps ours free of one. The
//! numbers are rows of the project's list of such faults.

mod common;

use common::*;
use kv_router::{
    ErrorKind, KvEvent, PlaceRequest, RadixTree, RouterConfig, StoredBlock, block_hashes,
    sequence_hashes,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

// 4
#[test]
fn cache_of_one_rank_is_found_for_that_rank_only() {
    let mut router = router(RouterConfig::default(), 1, 3);
    store(&mut router, 0.0, at(0, 1), 1, 4);
    let mut found = Vec::new();
    router.index().find_matches(&chain(1, 4), false, &mut found);
    assert_eq!(found, [(at(0, 1), 4)]);
    let prompt = chain(1, 4);
    let cached = PlaceRequest {
        sequence_hashes: &prompt,
        ..request(1, 64)
    };
    assert_eq!(staged(&mut router, 0.0, &cached), at(0, 1));
}

// 6
#[test]
fn a_million_distinct_blocks_stored_and_removed_leave_nothing() {
    let mut tree = RadixTree::new();
    for family in 0..1000 {
        let stored = blocks(family, 0, 1000);
        let event = KvEvent::Stored {
            parent_hash: None,
            blocks: &stored,
        };
        tree.apply(at(0, 0), event).expect("it is new");
        let block_hashes: Vec<_> = stored.iter().map(|block| block.block_hash).collect();
        tree.apply(
            at(0, 0),
            KvEvent::Removed {
                block_hashes: &block_hashes,
            },
        )
        .expect("removal");
    }
    assert_eq!((tree.len(), tree.blocks_of(at(0, 0))), (0, 0));
    assert_eq!(
        (tree.counters().stored, tree.counters().removed),
        (1_000_000, 1_000_000)
    );
}

// 7
#[test]
fn removal_of_an_unknown_block_leaves_the_size_alone() {
    let mut tree = RadixTree::new();
    let event = KvEvent::Stored {
        parent_hash: None,
        blocks: &blocks(1, 0, 4),
    };
    tree.apply(at(0, 0), event).expect("it is new");
    for source in [at(0, 0), at(5, 0)] {
        tree.apply(
            source,
            KvEvent::Removed {
                block_hashes: &[1, 2, 3],
            },
        )
        .expect("harmless");
    }
    assert_eq!((tree.len(), tree.sources()), (4, vec![at(0, 0)]));
    assert_eq!(tree.counters().unknown_removed, 6);
}

// 8
#[test]
fn a_block_that_would_be_its_own_parent_is_refused_without_a_trace() {
    let mut router = router(RouterConfig::default(), 1, 1);
    store(&mut router, 0.0, at(0, 0), 1, 2);
    let digest = router.state_digest();
    let parent = chain(1, 2)[1];
    let own = StoredBlock {
        block_hash: parent,
        tokens_hash: 3,
    };
    let event = KvEvent::Stored {
        parent_hash: Some(parent),
        blocks: &[own],
    };
    assert_eq!(
        kind(router.observe(1.0, at(0, 0), event)),
        ErrorKind::SelfParent
    );
    assert_eq!(router.state_digest(), digest);
}

// 9
#[test]
fn removing_a_suffix_twice_equals_removing_it_once() {
    let once = |times: usize| {
        let mut tree = RadixTree::new();
        for source in [at(0, 0), at(1, 0)] {
            let event = KvEvent::Stored {
                parent_hash: None,
                blocks: &blocks(1, 0, 6),
            };
            tree.apply(source, event).expect("it is new");
        }
        for _ in 0..times {
            let event = KvEvent::Removed {
                block_hashes: &chain(1, 6)[3..],
            };
            tree.apply(at(0, 0), event).expect("harmless");
        }
        (tree.len(), tree.blocks_of(at(0, 0)), tree.dump())
    };
    assert_eq!(once(1), once(2));
    assert_eq!(once(1).1, 3);
}

// 10
proptest! {
    #![proptest_config(Config {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn interleaving_the_events_of_candidates_changes_nothing(
        events in prop::collection::vec((0..3u32, any::<bool>(), 0..3u64, 0..8usize), 1..60),
        order in any::<u64>(),
    ) {
        let apply = |tree: &mut RadixTree, (worker, store, family, count): (u32, bool, u64, usize)| {
            let (stored, hashes) = (blocks(family, 0, count), chain(family, count));
            let event = match store {
                true => KvEvent::Stored { parent_hash: None, blocks: &stored },
                false => KvEvent::Removed { block_hashes: &hashes },
            };
            tree.apply(at(worker, 0), event).expect("there is no parent");
        };
        let (mut one, mut other) = (RadixTree::new(), RadixTree::new());
        events.iter().for_each(|event| apply(&mut one, *event));
        // Each candidate's events in order, the candidates mixed at random.
        let mut queues = [0, 1, 2].map(|worker| {
            events.iter().filter(|event| event.0 == worker).copied().collect::<Vec<_>>()
        });
        queues.iter_mut().for_each(|queue| queue.reverse());
        let mut draw = order;
        while queues.iter().any(|queue| !queue.is_empty()) {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if let Some(event) = queues[(draw >> 33) as usize % 3].pop() {
                apply(&mut other, event);
            }
        }
        prop_assert_eq!(one.dump(), other.dump());
    }
}

// 11
#[test]
fn sizes_are_zero_after_clear() {
    let mut router = router(RouterConfig::default(), 1, 2);
    for rank in 0..2 {
        store(&mut router, 0.0, at(0, rank), 1, 4);
    }
    router
        .observe(0.0, at(0, 0), KvEvent::Cleared)
        .expect("it exists");
    assert_eq!(
        (router.index().blocks_of(at(0, 0)), router.index().len()),
        (0, 4)
    );
    router
        .observe(0.0, at(0, 1), KvEvent::Cleared)
        .expect("it exists");
    assert_eq!(
        (router.index().blocks_of(at(0, 1)), router.index().len()),
        (0, 0)
    );
}

// 12
#[test]
fn a_worker_that_comes_back_starts_its_chains_anew() {
    let mut router = router(RouterConfig::default(), 1, 1);
    store(&mut router, 0.0, at(0, 0), 1, 4);
    router.worker_removed(1.0, 0).expect("it exists");
    router
        .worker_ready(1.0, &workers(1, 1)[0])
        .expect("the id is free");
    let late = KvEvent::Stored {
        parent_hash: Some(chain(1, 4)[3]),
        blocks: &blocks(1, 4, 5),
    };
    assert_eq!(
        kind(router.observe(2.0, at(0, 0), late)),
        ErrorKind::ParentNotFound
    );
    store(&mut router, 2.0, at(0, 0), 1, 5);
    assert_eq!(router.index().blocks_of(at(0, 0)), 5);
}

// 13
#[test]
fn a_missing_block_in_a_removal_does_not_stop_the_rest() {
    let mut tree = RadixTree::new();
    let event = KvEvent::Stored {
        parent_hash: None,
        blocks: &blocks(1, 0, 3),
    };
    tree.apply(at(0, 0), event).expect("it is new");
    let hashes = chain(1, 3);
    let block_hashes = &[hashes[2], 12345, hashes[1]];
    tree.apply(at(0, 0), KvEvent::Removed { block_hashes })
        .expect("harmless");
    assert_eq!(tree.len(), 1);
}

// 30
#[test]
fn block_size_one_works() {
    let config = RouterConfig {
        block_size: 1,
        ..RouterConfig::default()
    };
    let mut router = router(config, 2, 1);
    let local = block_hashes(&[5, 6, 7], 1, None);
    let prompt = sequence_hashes(&local);
    let pairs = local.iter().zip(&prompt);
    let blocks: Vec<_> = pairs
        .map(|(&tokens_hash, &block_hash)| StoredBlock {
            block_hash,
            tokens_hash,
        })
        .collect();
    let event = KvEvent::Stored {
        parent_hash: None,
        blocks: &blocks,
    };
    router.observe(0.0, at(1, 0), event).expect("it exists");
    let cached = PlaceRequest {
        sequence_hashes: &prompt,
        ..request(1, 3)
    };
    let decision = router.place(0.0, &cached).expect("it is valid").decision;
    let decision = decision.expect("it goes at once");
    assert_eq!((decision.candidate, decision.cached_tokens), (at(1, 0), 3));
}

// 31
#[test]
fn a_chain_in_pieces_equals_the_chain_in_one() {
    let whole = {
        let mut tree = RadixTree::new();
        let event = KvEvent::Stored {
            parent_hash: None,
            blocks: &blocks(1, 0, 9),
        };
        tree.apply(at(0, 0), event).expect("it is new");
        tree.dump()
    };
    let mut tree = RadixTree::new();
    for (from, to) in [(0usize, 2), (2, 3), (3, 9)] {
        let parent_hash = from.checked_sub(1).map(|last| chain(1, 9)[last]);
        let event = KvEvent::Stored {
            parent_hash,
            blocks: &blocks(1, from, to),
        };
        tree.apply(at(0, 0), event).expect("the parent is held");
    }
    assert_eq!(tree.dump(), whole);
    // The tokens hash in place of the block hash is not a parent.
    let wrong = Some(local(1, 9)[8]);
    let event = KvEvent::Stored {
        parent_hash: wrong,
        blocks: &blocks(1, 9, 10),
    };
    assert_eq!(kind(tree.apply(at(0, 0), event)), ErrorKind::ParentNotFound);
}

// 32
#[test]
fn storing_again_is_counted_and_harmless() {
    let mut tree = RadixTree::new();
    for _ in 0..2 {
        let event = KvEvent::Stored {
            parent_hash: None,
            blocks: &blocks(1, 0, 5),
        };
        tree.apply(at(0, 0), event).expect("it is tolerated");
    }
    let counters = tree.counters();
    assert_eq!(
        (tree.len(), counters.stored, counters.duplicate_stored),
        (5, 5, 5)
    );
    tree.apply(
        at(0, 0),
        KvEvent::Removed {
            block_hashes: &chain(1, 5),
        },
    )
    .expect("harmless");
    assert!(tree.is_empty(), "once removed it is gone");
}
