//! Session affinity in a router: who waits for a session, and for how long. The numbers are those of the eighteen behaviours that
//! affinity has to have.

mod common;

use common::*;
use kv_router::{ClassConfig, ErrorKind, PlaceRequest, PolicyConfig, QueuePolicy, RouterConfig};

// 2
#[test]
fn a_waiter_waits_for_the_dispatch_and_follows_to_the_same_rank() {
    let mut router = router(with_sessions(RouterConfig::default()), 3, 2);
    let first = staged(&mut router, 0.0, &in_session(1, 64, "s"));
    waits(&mut router, 1.0, &in_session(2, 64, "s"));
    assert_eq!(
        router.advance_clock(2.0),
        Ok(vec![]),
        "time alone does not help"
    );
    let released = router
        .dispatch_committed(3.0, 1, first)
        .expect("it is placed");
    assert_eq!(ids(&released), [2]);
    assert_eq!(released[0].candidate, first);
    assert!(released[0].binding_reused && released[0].queued);
}

// 3
#[test]
fn waiters_of_a_committed_group_pass_the_initializer_of_another() {
    let mut router = router(with_sessions(queueing()), 1, 2);
    let first = staged(&mut router, 0.0, &in_session(1, 64, "a"));
    run(&mut router, 0.0, &in_session(2, 64, "b"));
    // The initializer of c waits for any rank, and behind it one of a.
    waits(&mut router, 0.0, &in_session(3, 64, "c"));
    waits(&mut router, 0.0, &in_session(4, 64, "a"));
    router.prefill_completed(1.0, 1).expect("it is placed");
    let released = router
        .dispatch_committed(1.0, 1, first)
        .expect("it is placed");
    assert_eq!(
        released,
        [],
        "rank of a: the initializer of c went there at 1.0"
    );
    let next = router.prefill_completed(2.0, 3).expect("it is placed");
    assert_eq!((ids(&next), next[0].candidate), (vec![4], first));
}

// 6
#[test]
fn lcfs_does_not_change_who_initializes() {
    let config = RouterConfig {
        router_queue_policy: QueuePolicy::Lcfs,
        ..queueing()
    };
    let mut router = router(with_sessions(config), 1, 1);
    run(&mut router, 0.0, &in_session(0, 64, "x"));
    waits(&mut router, 1.0, &in_session(1, 64, "s"));
    waits(&mut router, 2.0, &in_session(2, 64, "s"));
    let released = router.prefill_completed(3.0, 0).expect("it is placed");
    assert_eq!(
        ids(&released),
        [1],
        "the first of the session, though the last would be served"
    );
}

// 7
#[test]
fn cancelling_a_queued_initializer_wakes_a_sibling() {
    let mut router = router(with_sessions(queueing()), 1, 1);
    run(&mut router, 0.0, &in_session(0, 64, "x"));
    waits(&mut router, 1.0, &in_session(1, 64, "s"));
    waits(&mut router, 2.0, &in_session(2, 64, "s"));
    waits(&mut router, 2.0, &in_session(3, 64, "s"));
    assert_eq!(
        router.cancel(3.0, 1),
        Ok(vec![]),
        "the worker is still busy"
    );
    let released = router.prefill_completed(4.0, 0).expect("it is placed");
    assert_eq!(ids(&released), [2]);
    router.prefill_completed(5.0, 2).expect("it is placed");
    assert_eq!(ids(&commit(&mut router, 5.0, &released)), [3]);
}

// 8
#[test]
fn waiters_look_at_the_cache_again_when_the_binding_is_ready() {
    let mut router = router(with_sessions(RouterConfig::default()), 1, 1);
    let prompt = chain(1, 4);
    let first = PlaceRequest {
        sequence_hashes: &prompt,
        ..in_session(1, 64, "s")
    };
    let place = staged(&mut router, 0.0, &first);
    waits(
        &mut router,
        0.0,
        &PlaceRequest {
            request_id: 2,
            ..first
        },
    );
    store(&mut router, 1.0, place, 1, 4);
    let released = router
        .dispatch_committed(2.0, 1, place)
        .expect("it is placed");
    assert_eq!(
        (released[0].overlap_blocks, released[0].cached_tokens),
        (4, 64)
    );
}

// 9
#[test]
fn waiters_of_a_session_count_toward_the_limits() {
    let class = ClassConfig {
        request_queue_limit_per_worker: Some(1),
        ..ClassConfig::new("only", "only", QueuePolicy::Fcfs)
    };
    let policy = PolicyConfig {
        default_family: "only".into(),
        classes: vec![class],
    };
    let config = RouterConfig {
        router_policy_config: Some(policy),
        ..queueing()
    };
    let mut router = router(with_sessions(config), 1, 1);
    staged(&mut router, 0.0, &in_session(1, 64, "s"));
    waits(&mut router, 0.0, &in_session(2, 64, "s"));
    assert_eq!(router.pending_count(), 1);
    let digest = router.state_digest();
    assert_eq!(
        kind(router.place(0.0, &in_session(3, 64, "s"))),
        ErrorKind::QueueLimit
    );
    assert_eq!(router.state_digest(), digest);
    router.cancel(0.0, 2).expect("it waits");
    waits(&mut router, 0.0, &in_session(3, 64, "s"));
}

// 11
#[test]
fn a_queued_session_request_does_not_block_an_idle_rank() {
    let mut router = router(with_sessions(queueing()), 1, 2);
    let bound = run(&mut router, 0.0, &in_session(1, 64, "s"));
    waits(&mut router, 0.0, &in_session(2, 64, "s"));
    let elsewhere = staged(&mut router, 0.0, &in_session(3, 64, "new"));
    assert_ne!(elsewhere, bound);
}

// 12
#[test]
fn an_arrival_whose_bound_rank_is_idle_passes_the_backlog_of_others() {
    let mut router = router(with_sessions(queueing()), 1, 2);
    let a = run(&mut router, 0.0, &in_session(1, 64, "a"));
    let b = run(&mut router, 0.0, &in_session(2, 64, "b"));
    assert_ne!(a, b);
    waits(&mut router, 0.0, &in_session(3, 64, "a"));
    waits(&mut router, 0.0, &in_session(4, 64, "a"));
    assert_eq!(
        router.prefill_completed(1.0, 2),
        Ok(vec![]),
        "nobody waits for rank b"
    );
    let placed = router
        .place(1.0, &in_session(5, 64, "b"))
        .expect("it is valid");
    assert_eq!(placed.decision.expect("its rank is idle").candidate, b);
}

// 13
#[test]
fn waiting_siblings_do_not_block_a_new_session() {
    let mut router = router(with_sessions(RouterConfig::default()), 1, 1);
    staged(&mut router, 0.0, &in_session(1, 64, "s"));
    for id in 2..10 {
        waits(&mut router, 0.0, &in_session(id, 64, "s"));
    }
    staged(&mut router, 0.0, &in_session(10, 64, "new"));
}

// 14
#[test]
fn an_aborted_initializer_unblocks_its_rank() {
    let mut router = router(with_sessions(queueing()), 1, 1);
    staged(&mut router, 0.0, &in_session(1, 64, "s"));
    waits(&mut router, 0.0, &in_session(2, 64, "other"));
    let released = router.dispatch_aborted(1.0, 1).expect("it is placed");
    assert_eq!((ids(&released), router.pending_count()), (vec![2], 0));
}

// 18
#[test]
fn a_drain_touches_the_same_few_waiters_at_any_backlog() {
    let mut touched = Vec::new();
    for backlog in [128, 1024, 4096] {
        let mut router = router(with_sessions(queueing()), 2, 1);
        let a = run(&mut router, 0.0, &in_session(1, 64, "a"));
        let b = run(&mut router, 0.0, &in_session(2, 64, "b"));
        assert_ne!(a, b);
        for id in 0..backlog {
            waits(&mut router, 0.0, &in_session(100 + id, 64, "a"));
        }
        waits(&mut router, 0.0, &in_session(3, 64, "b"));
        let before = router.scheduler().drain_touches();
        assert_eq!(
            ids(&router.prefill_completed(1.0, 2).expect("it is placed")),
            [3]
        );
        touched.push(router.scheduler().drain_touches() - before);
    }
    assert_eq!(touched, [touched[0]; 3]);
    assert!(touched[0] <= 2, "{touched:?}");
}
