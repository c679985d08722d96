//! Overlap without cache events, or ahead of them: a candidate has what was routed to it.

mod common;

use common::*;
use kv_router::{
    ApproximateCachePolicy, ErrorKind, KvEvent, OfflineRouter, PlaceRequest, RouterConfig,
    WorkerConfig,
};

fn without_events() -> RouterConfig {
    RouterConfig {
        use_kv_events: false,
        ..RouterConfig::default()
    }
}

/// Places a prompt on worker 0, ends it, and gives the overlap that it found.
fn route(router: &mut OfflineRouter, now_ms: f64, family: u64, blocks: usize) -> u32 {
    let prompt = chain(family, blocks);
    let request = PlaceRequest {
        sequence_hashes: &prompt,
        pinned: pin(0, 0),
        ..request(1, blocks as u32 * BLOCK)
    };
    let placed = router.place(now_ms, &request).expect("it is valid");
    router
        .request_terminal(now_ms, 1)
        .expect("the clock stands");
    placed.decision.expect("it goes at once").overlap_blocks
}

#[test]
fn a_route_is_remembered_for_the_ttl_and_renewed_by_the_next() {
    let mut router = router(
        RouterConfig {
            router_ttl_secs: 1.5,
            ..without_events()
        },
        2,
        1,
    );
    assert_eq!(route(&mut router, 0.0, 1, 4), 0);
    assert_eq!(route(&mut router, 1000.0, 1, 6), 4);
    assert_eq!(route(&mut router, 1500.0, 2, 1), 0, "another prompt");
    assert_eq!(route(&mut router, 2499.0, 1, 8), 6, "renewed at 1,000 ms");
    assert_eq!(
        route(&mut router, 3999.0, 1, 8),
        0,
        "exactly at the deadline it is forgotten"
    );
}

#[test]
fn a_refused_call_forgets_nothing() {
    let mut router = router(
        RouterConfig {
            router_ttl_secs: 1.0,
            ..without_events()
        },
        1,
        1,
    );
    route(&mut router, 0.0, 1, 4);
    let digest = router.state_digest();
    let far = PlaceRequest {
        pinned: pin(9, 0),
        ..request(2, 64)
    };
    assert_eq!(kind(router.place(5000.0, &far)), ErrorKind::NoEndpoints);
    assert_eq!(router.state_digest(), digest);
    assert_eq!(route(&mut router, 999.0, 1, 4), 4);
}

#[test]
fn lru_keeps_what_was_routed_last_within_the_capacity() {
    let config = RouterConfig {
        router_approximate_cache_policy: ApproximateCachePolicy::Lru,
        ..without_events()
    };
    let worker = WorkerConfig {
        total_kv_blocks: Some(10),
        ..WorkerConfig::new(0, 1)
    };
    let mut router = OfflineRouter::new(config.clone(), &[worker]).expect("it is valid");
    route(&mut router, 0.0, 1, 4);
    route(&mut router, 1.0, 2, 4);
    assert_eq!(route(&mut router, 2.0, 1, 4), 4);
    route(&mut router, 3.0, 3, 4);
    assert_eq!(
        route(&mut router, 1e9, 1, 4),
        4,
        "used after prompt 2, and never too old"
    );
    assert_eq!(
        route(&mut router, 1e9, 2, 4),
        0,
        "the least recently routed one had to go"
    );
    for _ in 0..100 {
        assert_eq!(route(&mut router, 1e9, 2, 4), 4);
    }
    let unknown = OfflineRouter::new(config, &[WorkerConfig::new(0, 1)]);
    assert_eq!(kind(unknown), ErrorKind::InvalidValue);
}

#[test]
fn predictions_go_ahead_of_events_and_give_way_to_them() {
    let config = RouterConfig {
        router_predicted_ttl_secs: Some(1.0),
        ..RouterConfig::default()
    };
    let mut router = router(config, 1, 1);
    route(&mut router, 0.0, 1, 4);
    assert_eq!(route(&mut router, 500.0, 1, 6), 4, "no event said so yet");
    store(&mut router, 600.0, at(0, 0), 1, 5);
    assert_eq!(route(&mut router, 700.0, 1, 8), 6, "whichever is more");
    assert_eq!(
        route(&mut router, 5000.0, 1, 8),
        5,
        "only the events are left"
    );
    let mut plain = common::router(RouterConfig::default(), 1, 1);
    route(&mut plain, 0.0, 1, 4);
    assert_eq!(route(&mut plain, 1.0, 1, 4), 0, "off by default");
}

#[test]
fn routes_go_with_their_worker() {
    let mut router = router(without_events(), 1, 1);
    route(&mut router, 0.0, 1, 4);
    router.worker_removed(1.0, 0).expect("it exists");
    router
        .worker_ready(1.0, &workers(1, 1)[0])
        .expect("the id is free");
    assert_eq!(route(&mut router, 2.0, 1, 4), 0);
}

#[test]
fn the_two_sources_are_not_mixed_up() {
    let mut router = router(without_events(), 1, 1);
    assert_eq!(
        kind(router.observe(0.0, at(0, 0), KvEvent::Cleared)),
        ErrorKind::Unsupported
    );
    let lru = ApproximateCachePolicy::Lru;
    for config in [
        RouterConfig {
            router_approximate_cache_policy: lru,
            ..RouterConfig::default()
        },
        RouterConfig {
            router_predicted_ttl_secs: Some(1.0),
            ..without_events()
        },
        RouterConfig {
            router_ttl_secs: 0.0,
            ..without_events()
        },
    ] {
        assert_eq!(
            kind(OfflineRouter::new(config, &[])),
            ErrorKind::InvalidValue
        );
    }
}
