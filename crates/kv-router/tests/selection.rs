//! Who is chosen: the cost, the draw, and the refusals.

mod common;

use common::*;
use kv_router::{
    ErrorKind, OfflineRouter, Overrides, Pin, PlaceRequest, RouterConfig, SharedCacheType,
    TierOverlap, WorkerConfig,
};

/// How often each worker is chosen for one request on an idle router, over 4,000 seeds.
fn counts(config: &RouterConfig, count: u32, prepare: impl Fn(&mut OfflineRouter)) -> Vec<u32> {
    let prompt = chain(1, 4);
    let mut counts = vec![0; count as usize];
    for seed in 0..4000 {
        let mut router = router(
            RouterConfig {
                seed,
                ..config.clone()
            },
            count,
            1,
        );
        prepare(&mut router);
        let request = PlaceRequest {
            sequence_hashes: &prompt,
            ..request(1, 64)
        };
        counts[staged(&mut router, 0.0, &request).worker_id as usize] += 1;
    }
    counts
}

#[test]
fn ties_spread_evenly_over_seeds_and_a_seed_repeats_its_choice() {
    let config = RouterConfig::default();
    let first = counts(&config, 4, |_| {});
    // 1,000 expected; five standard deviations are 137.
    assert!(
        first.iter().all(|count| count.abs_diff(1000) < 137),
        "{first:?}"
    );
    assert_eq!(counts(&config, 4, |_| {}), first);
}

#[test]
fn ties_spread_evenly_within_one_router() {
    let mut router = router(RouterConfig::default(), 4, 1);
    let mut counts = [0u32; 4];
    for id in 0..4000 {
        counts[staged(&mut router, 0.0, &request(id, 64)).worker_id as usize] += 1;
        router.cancel(0.0, id).expect("it is not dispatched");
    }
    assert!(
        counts.iter().all(|count| count.abs_diff(1000) < 137),
        "{counts:?}"
    );
}

#[test]
fn cached_prefix_wins_and_temperature_spreads_it() {
    let cached = |router: &mut OfflineRouter| store(router, 0.0, at(2, 0), 1, 4);
    assert_eq!(counts(&RouterConfig::default(), 4, cached), [0, 0, 4000, 0]);
    let warm = RouterConfig {
        router_temperature: 1.0,
        ..RouterConfig::default()
    };
    let counts = counts(&warm, 4, cached);
    // p(cached) = 1 / (1 + 3/e) = 0.4754 of 4,000 = 1,902; five standard deviations are 158.
    assert!(counts[2].abs_diff(1902) < 158, "{counts:?}");
}

#[test]
fn equal_costs_are_uniform_at_any_temperature() {
    for router_temperature in [1e-300, 0.5, 1e300] {
        let config = RouterConfig {
            router_temperature,
            ..RouterConfig::default()
        };
        let counts = counts(&config, 4, |_| {});
        assert!(
            counts.iter().all(|count| count.abs_diff(1000) < 137),
            "{counts:?}"
        );
    }
}

#[test]
fn costs_near_the_limits_of_floats_are_survived() {
    let config = RouterConfig {
        prefill_load_scale: f64::MAX / 100.0,
        decode_active_request_weight: f64::MAX,
        router_temperature: 0.7,
        ..RouterConfig::default()
    };
    let mut router = router(config, 3, 1);
    for id in 0..200 {
        staged(&mut router, 0.0, &request(id, 160));
    }
}

/// Where 12 equal requests go, most loaded first, after one that caches their first 4 blocks.
fn spread(change: impl Fn(&mut RouterConfig)) -> Vec<u32> {
    let mut config = RouterConfig {
        seed: 3,
        ..RouterConfig::default()
    };
    change(&mut config);
    let mut router = router(config, 3, 1);
    store(&mut router, 0.0, at(0, 0), 1, 4);
    let mut counts = [0; 3];
    for id in 0..12 {
        let prompt: Vec<_> = chain(1, 4).into_iter().chain(chain(50 + id, 2)).collect();
        let request = PlaceRequest {
            sequence_hashes: &prompt,
            ..request(id, 96)
        };
        counts[staged(&mut router, 0.0, &request).worker_id as usize] += 1;
    }
    let cached = counts[0];
    assert_eq!(
        counts.iter().max(),
        Some(&cached),
        "the cached worker gets the most"
    );
    counts.sort_unstable();
    counts.to_vec()
}

#[test]
fn parameters_shift_load_in_the_documented_direction() {
    assert_eq!(spread(|_| {}), [3, 3, 6]);
    assert_eq!(spread(|c| c.decode_active_request_weight = 20.0), [4, 4, 4]);
    assert_eq!(spread(|c| c.router_track_prefill_tokens = false), [4, 4, 4]);
    assert_eq!(spread(|c| c.router_assume_kv_reuse = false), [3, 4, 5]);
    assert_eq!(spread(|c| c.router_track_active_blocks = false), [2, 2, 8]);
}

#[test]
fn credit_decays_with_the_prefill_load_beyond_the_lightest() {
    let chosen = |overlap_score_credit_decay| {
        let config = RouterConfig {
            overlap_score_credit_decay,
            ..RouterConfig::default()
        };
        let mut router = router(config, 2, 1);
        store(&mut router, 0.0, at(0, 0), 1, 4);
        let load = PlaceRequest {
            pinned: pin(0, 0),
            ..request(1, 48)
        };
        staged(&mut router, 0.0, &load);
        let prompt = chain(1, 6);
        let cached = PlaceRequest {
            sequence_hashes: &prompt,
            ..request(2, 96)
        };
        staged(&mut router, 0.0, &cached).worker_id
    };
    // Worker 0 costs 3 + 6 - 4 / (1 + decay * 3 / 6) prefill and 6 decode blocks, worker 1 6 + 6.
    assert_eq!(chosen(0.0), 0, "11 against 12");
    assert_eq!(chosen(1.0), 1, "12.3 against 12");
}

#[test]
fn lower_tiers_and_the_shared_cache_are_credited() {
    let mut config = RouterConfig {
        shared_cache_type: SharedCacheType::Hicache,
        ..RouterConfig::default()
    };
    let mut tiers = |host_blocks, disk_blocks, shared_cache_blocks| {
        config.seed += 1;
        let mut router = router(config.clone(), 2, 1);
        store(&mut router, 0.0, at(0, 0), 1, 1);
        let prompt = chain(1, 8);
        let lower_tiers = [TierOverlap {
            candidate: at(1, 0),
            host_blocks,
            disk_blocks,
        }];
        let request = PlaceRequest {
            sequence_hashes: &prompt,
            lower_tiers: &lower_tiers,
            shared_cache_blocks,
            ..request(1, 128)
        };
        let decision = router.place(0.0, &request).expect("it is valid").decision;
        let decision = decision.expect("it goes at once");
        (decision.candidate.worker_id, decision.cached_tokens)
    };
    assert_eq!(
        tiers(1, 0, 0),
        (0, 16),
        "0.75 of a block is less than one on the device"
    );
    assert_eq!(tiers(2, 0, 0), (1, 24), "1.5 blocks are more");
    assert_eq!(tiers(0, 3, 0), (0, 16));
    assert_eq!(tiers(0, 5, 0), (1, 20));
    // Beyond the device: 7 blocks on worker 0 against 8 on worker 1, each worth half.
    assert_eq!(tiers(0, 0, 8), (0, 16));
}

#[test]
fn taints_filter_and_prefer() {
    let tainted = |id, taints: &[&str]| WorkerConfig {
        taints: taints.iter().map(|taint| (*taint).to_owned()).collect(),
        ..WorkerConfig::new(id, 1)
    };
    let workers = [
        tainted(0, &[]),
        tainted(1, &["h200", "eu"]),
        tainted(2, &["h200"]),
    ];
    for seed in 0..50 {
        let config = RouterConfig {
            seed,
            ..RouterConfig::default()
        };
        let mut router = OfflineRouter::new(config, &workers).expect("it is valid");
        let both = PlaceRequest {
            required_taints: &["eu", "h200"],
            ..request(1, 64)
        };
        assert_eq!(staged(&mut router, 0.0, &both).worker_id, 1);
        router.cancel(0.0, 1).expect("it is not dispatched");
        let prefers = PlaceRequest {
            preferred_taints: &[("eu", 1.0)],
            ..request(2, 64)
        };
        assert_eq!(staged(&mut router, 0.0, &prefers).worker_id, 1);
        router.cancel(0.0, 2).expect("it is not dispatched");
        let avoids = PlaceRequest {
            preferred_taints: &[("h200", -1.0)],
            ..request(3, 64)
        };
        assert_eq!(staged(&mut router, 0.0, &avoids).worker_id, 0);
        let none = PlaceRequest {
            required_taints: &["tpu"],
            ..request(4, 64)
        };
        assert_eq!(kind(router.place(0.0, &none)), ErrorKind::NoEndpoints);
    }
}

#[test]
fn a_preferred_candidate_is_taken_when_eligible() {
    for seed in 0..50 {
        let mut router = router(
            RouterConfig {
                seed,
                ..RouterConfig::default()
            },
            4,
            1,
        );
        store(&mut router, 0.0, at(0, 0), 1, 4);
        let prompt = chain(1, 4);
        let prefers = PlaceRequest {
            sequence_hashes: &prompt,
            preferred: Some(at(3, 0)),
            ..request(1, 64)
        };
        assert_eq!(staged(&mut router, 0.0, &prefers), at(3, 0));
        router.worker_draining(0.0, 3).expect("it exists");
        assert_eq!(
            staged(
                &mut router,
                0.0,
                &PlaceRequest {
                    request_id: 2,
                    ..prefers
                }
            ),
            at(0, 0)
        );
    }
}

#[test]
fn every_refusal_has_its_own_kind() {
    let mut router = router(RouterConfig::default(), 2, 2);
    let pinned = |worker_id, dp_rank| PlaceRequest {
        pinned: Some(Pin { worker_id, dp_rank }),
        ..request(1, 64)
    };
    assert_eq!(
        kind(router.place(0.0, &pinned(7, None))),
        ErrorKind::NoEndpoints
    );
    assert_eq!(
        kind(router.place(0.0, &pinned(0, Some(2)))),
        ErrorKind::NoEndpoints
    );
    let outside = PlaceRequest {
        allowed_workers: Some(&[1]),
        ..pinned(0, None)
    };
    assert_eq!(
        kind(router.place(0.0, &outside)),
        ErrorKind::PinnedNotAllowed
    );
    router.worker_overloaded(0.0, 0, true).expect("it exists");
    assert_eq!(
        kind(router.place(0.0, &pinned(0, None))),
        ErrorKind::PinnedOverloaded
    );
    assert_eq!(staged(&mut router, 0.0, &request(1, 64)).worker_id, 1);
    router.worker_overloaded(0.0, 1, true).expect("it exists");
    assert_eq!(
        kind(router.place(0.0, &request(2, 64))),
        ErrorKind::AllOverloaded
    );
    router.worker_fenced(0.0, 0).expect("it exists");
    router.worker_overloaded(0.0, 1, false).expect("it exists");
    let fenced = PlaceRequest {
        request_id: 9,
        ..pinned(0, None)
    };
    assert_eq!(kind(router.place(0.0, &fenced)), ErrorKind::NoEndpoints);
    assert_eq!(
        kind(router.place(0.0, &request(1, 64))),
        ErrorKind::DuplicateRequest
    );
    assert_eq!(
        kind(router.place(0.0, &request(2, 0))),
        ErrorKind::InvalidValue
    );
    let long = chain(1, 5);
    let too_many = PlaceRequest {
        sequence_hashes: &long,
        ..request(2, 79)
    };
    assert_eq!(kind(router.place(0.0, &too_many)), ErrorKind::InvalidValue);
}

#[test]
fn overrides_replace_parameters_for_one_request() {
    let config = RouterConfig {
        router_temperature: 0.0,
        ..RouterConfig::default()
    };
    let blind = |router: &mut OfflineRouter, id, overlap_score_credit| {
        let prompt = chain(1, 4);
        let overrides = Overrides {
            overlap_score_credit,
            ..Overrides::default()
        };
        let request = PlaceRequest {
            sequence_hashes: &prompt,
            overrides,
            ..request(id, 64)
        };
        let at = staged(router, 0.0, &request);
        router.cancel(0.0, id).expect("it is not dispatched");
        at.worker_id
    };
    let mut router = router(config, 2, 1);
    store(&mut router, 0.0, at(0, 0), 1, 4);
    let chosen: Vec<_> = (0..64)
        .map(|id| blind(&mut router, id, Some(0.0)))
        .collect();
    assert!(
        chosen.contains(&0) && chosen.contains(&1),
        "without credit it is a tie"
    );
    assert!((64..128).all(|id| blind(&mut router, id, None) == 0));
    let bad = Overrides {
        router_temperature: Some(-1.0),
        ..Overrides::default()
    };
    let bad = PlaceRequest {
        overrides: bad,
        ..request(200, 64)
    };
    assert_eq!(kind(router.place(0.0, &bad)), ErrorKind::InvalidValue);
}

#[test]
fn a_decode_pool_is_blind_to_cache_unless_asked_to_see_it() {
    let base = RouterConfig::default();
    let cached = |router: &mut OfflineRouter| store(router, 0.0, at(1, 0), 1, 4);
    let blind = counts(&base.for_decode_pool(), 2, cached);
    assert!(blind[0].abs_diff(2000) < 160, "{blind:?}");
    assert_eq!(
        counts(&base.for_decode_pool_with_cache(), 2, cached),
        [0, 4000]
    );
    assert_eq!(counts(&base.for_prefill_pool(), 2, cached), [0, 4000]);
}
