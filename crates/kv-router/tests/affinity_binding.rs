//! Session affinity in a router: what a session is bound to. The numbers are those of the eighteen behaviours that
//! affinity has to have.

mod common;

use common::*;
use kv_router::{
    AffinityConfig, BindingMode, Candidate, ErrorKind, MAX_CLOCK_MS, OfflineRouter, PlaceRequest,
    QueuePolicy, RouterConfig, SessionIdentity, affinity_key,
};

/// Binds session `name` with request `id` and ends the request; gives the candidate.
fn bind(router: &mut OfflineRouter, now_ms: f64, id: u64, name: &str) -> Candidate {
    let at = run(router, now_ms, &in_session(id, 16, name));
    router
        .request_terminal(now_ms, id)
        .expect("the clock stands");
    at
}

// 1
#[test]
fn cache_on_another_rank_of_the_bound_worker_does_not_count() {
    let config = RouterConfig {
        router_queue_policy: QueuePolicy::Wspt,
        ..queueing()
    };
    let mut router = router(with_sessions(config), 1, 2);
    let bound = bind(&mut router, 0.0, 1, "s");
    let other = at(0, 1 - bound.dp_rank);
    // Load on both ranks, so that all that follows waits.
    run(
        &mut router,
        0.0,
        &PlaceRequest {
            pinned: pin(0, 0),
            ..in_session(2, 64, "x")
        },
    );
    run(
        &mut router,
        0.0,
        &PlaceRequest {
            pinned: pin(0, 1),
            ..in_session(3, 64, "y")
        },
    );
    store(&mut router, 0.0, other, 5, 9);
    let prompt = chain(5, 9);
    // 160 tokens of which 144 are cached on the wrong rank, against 32 uncached ones.
    waits(
        &mut router,
        0.0,
        &PlaceRequest {
            sequence_hashes: &prompt,
            ..in_session(4, 160, "s")
        },
    );
    let pinned = PlaceRequest {
        pinned: pin(0, bound.dp_rank),
        ..in_session(5, 32, "z")
    };
    waits(&mut router, 0.0, &pinned);
    let running = if bound.dp_rank == 0 { 2 } else { 3 };
    let released = router
        .prefill_completed(1.0, running)
        .expect("it is placed");
    assert_eq!(ids(&released), [5], "the shorter prefill goes first");
}

// 4
#[test]
fn a_failed_dispatch_frees_booking_and_initialization_and_binds_nothing() {
    let mut router = router(with_sessions(RouterConfig::default()), 2, 1);
    staged(&mut router, 0.0, &in_session(1, 64, "s"));
    router.dispatch_aborted(1.0, 1).expect("it is placed");
    assert_eq!(router.session_count(), 0);
    assert!(
        router
            .scheduler()
            .loads()
            .iter()
            .all(|load| load.active_requests == 0)
    );
    let again = router
        .place(2.0, &in_session(1, 64, "s"))
        .expect("the id is free again");
    assert!(!again.decision.expect("it goes at once").binding_reused);
}

// 5
#[test]
fn a_fractional_ttl_works_in_virtual_time() {
    let affinity = AffinityConfig {
        ttl_secs: 1.25,
        ..AffinityConfig::default()
    };
    let config = RouterConfig {
        affinity: Some(affinity),
        ..RouterConfig::default()
    };
    for (now_ms, reused) in [(1249.999, true), (1250.0, false)] {
        let mut router = router(config.clone(), 4, 1);
        bind(&mut router, 0.0, 1, "s");
        let decision = router
            .place(now_ms, &in_session(2, 16, "s"))
            .expect("it is valid");
        assert_eq!(
            decision.decision.expect("it goes at once").binding_reused,
            reused
        );
    }
}

// 10
#[test]
fn removal_of_the_bound_worker_sends_waiters_back_to_admission() {
    let mut router = router(with_sessions(queueing()), 2, 1);
    let bound = run(&mut router, 0.0, &in_session(1, 64, "s"));
    let other = at(1 - bound.worker_id, 0);
    run(
        &mut router,
        0.0,
        &PlaceRequest {
            pinned: pin(other.worker_id, 0),
            ..in_session(2, 64, "x")
        },
    );
    waits(&mut router, 0.0, &in_session(3, 64, "s"));
    waits(&mut router, 0.0, &in_session(4, 64, "s"));
    assert_eq!(
        router.worker_removed(1.0, bound.worker_id),
        Ok(vec![]),
        "the other one is busy"
    );
    assert_eq!(router.pending_count(), 2);
    let released = router.prefill_completed(2.0, 2).expect("it is placed");
    assert_eq!((ids(&released), released[0].candidate), (vec![3], other));
    assert!(
        !released[0].binding_reused,
        "it initializes the session anew"
    );
    router.prefill_completed(3.0, 3).expect("it is placed");
    let followers = commit(&mut router, 3.0, &released);
    assert_eq!((ids(&followers), followers[0].candidate), (vec![4], other));
}

// 10, the other half
#[test]
fn waiters_of_a_removed_last_worker_go_when_a_worker_is_added() {
    let mut router = router(with_sessions(queueing()), 1, 1);
    run(&mut router, 0.0, &in_session(1, 64, "s"));
    waits(&mut router, 0.0, &in_session(2, 64, "s"));
    assert_eq!(router.worker_removed(1.0, 0), Ok(vec![]));
    assert_eq!((router.pending_count(), router.next_wakeup_ms()), (1, None));
    let released = router
        .worker_ready(2.0, &workers(1, 1)[0])
        .expect("the id is free");
    assert_eq!(ids(&released), [2]);
}

// 15
#[test]
fn an_oversized_clock_errors_without_advancing() {
    let mut router = router(with_sessions(RouterConfig::default()), 1, 1);
    bind(&mut router, 5.0, 1, "s");
    let digest = router.state_digest();
    for bad in [MAX_CLOCK_MS, f64::MAX, f64::INFINITY, f64::NAN] {
        assert_eq!(kind(router.advance_clock(bad)), ErrorKind::ClockInvalid);
        assert_eq!(
            kind(router.place(bad, &in_session(2, 64, "s"))),
            ErrorKind::ClockInvalid
        );
    }
    assert_eq!(router.state_digest(), digest);
    router
        .advance_clock(5.0)
        .expect("the clock still stands at 5");
}

// 16
#[test]
fn sibling_groups_follow_ancestry_and_stay_in_their_play() {
    let who = |play, session_id, parent| SessionIdentity {
        play,
        session_id,
        root: Some("root"),
        parent,
    };
    let mode = kv_router::AffinityMode::SiblingGroup;
    let key = |identity| affinity_key(mode, Some(&identity)).expect("the lineage is known");
    let left = key(who("p", "left", Some("root")));
    assert_eq!(
        left,
        key(who("p", "right", Some("root"))),
        "children of one parent share"
    );
    assert_ne!(
        left,
        key(who("q", "left", Some("root"))),
        "equal names in two plays do not"
    );
    assert_ne!(left, key(who("p", "left", Some("other"))));
    assert_ne!(
        left,
        key(who("p", "root", None)),
        "a root uses its own session"
    );
    let unknown = SessionIdentity {
        root: None,
        ..who("p", "left", None)
    };
    assert_eq!(
        kind(affinity_key(mode, Some(&unknown))),
        ErrorKind::InvalidValue
    );

    let mut router = router(with_siblings(RouterConfig::default()), 4, 1);
    let child = |id, session| PlaceRequest {
        session: Some(who("p", session, Some("root"))),
        ..request(id, 64)
    };
    let first = run(&mut router, 0.0, &child(1, "left"));
    assert_eq!(run(&mut router, 0.0, &child(2, "right")), first);
}

// 17
#[test]
fn both_pools_of_a_deployment_follow_their_own_bindings() {
    let base = with_siblings(RouterConfig::default());
    for dp_size in [1, 2] {
        let mut prefill = router(base.for_prefill_pool(), 2, dp_size);
        let mut decode = router(base.for_decode_pool(), 2, dp_size);
        let identity = |session| SessionIdentity {
            play: "p",
            session_id: session,
            root: Some("root"),
            parent: Some("root"),
        };
        let mut homes = Vec::new();
        for (id, session) in [(1, "left"), (2, "right"), (3, "left")] {
            let request = PlaceRequest {
                session: Some(identity(session)),
                ..request(id, 128)
            };
            let now_ms = id as f64 * 100.0;
            let from = run(&mut prefill, now_ms, &request);
            prefill
                .prefill_completed(now_ms + 10.0, id)
                .expect("it is placed");
            let to = run(&mut decode, now_ms + 10.0, &request);
            prefill
                .request_terminal(now_ms + 10.0, id)
                .expect("it is placed");
            decode
                .request_terminal(now_ms + 20.0, id)
                .expect("it is placed");
            homes.push((from, to));
        }
        assert!(homes.iter().all(|home| *home == homes[0]), "{homes:?}");
        for router in [&prefill, &decode] {
            let evidence = router.evidence();
            assert_eq!(
                (evidence.decision_count, evidence.post_dispatch_checks),
                (3, 3)
            );
            assert_eq!((evidence.affinity_hits, evidence.dispatch_aborts), (2, 0));
        }
    }
}

#[test]
fn a_dispatch_elsewhere_ends_a_hard_binding_and_moves_a_soft_one() {
    for binding in [BindingMode::Hard, BindingMode::Soft] {
        let affinity = AffinityConfig {
            binding,
            ..AffinityConfig::default()
        };
        let config = RouterConfig {
            affinity: Some(affinity),
            ..RouterConfig::default()
        };
        let mut router = router(config, 2, 1);
        let bound = bind(&mut router, 0.0, 1, "s");
        let other = at(1 - bound.worker_id, 0);
        staged(&mut router, 1.0, &in_session(2, 64, "s"));
        let result = router.dispatch_committed(1.0, 2, other);
        if binding == BindingMode::Hard {
            assert_eq!(kind(result), ErrorKind::BindingViolated);
            assert_eq!(router.session_count(), 0);
            continue;
        }
        result.expect("a soft binding moves");
        let loads = router.scheduler().loads();
        let load_of = |id| {
            loads
                .iter()
                .find(|load| load.candidate == id)
                .expect("it exists")
        };
        assert_eq!(
            load_of(bound).active_requests,
            0,
            "the booking moved with it"
        );
        assert_eq!(load_of(other).active_requests, 1);
        assert_eq!(run(&mut router, 2.0, &in_session(3, 64, "s")), other);
    }
}

#[test]
fn a_request_with_constraints_of_its_own_leaves_the_binding_alone() {
    let mut router = router(with_sessions(RouterConfig::default()), 2, 1);
    let bound = bind(&mut router, 0.0, 1, "s");
    let other = 1 - bound.worker_id;
    let own = PlaceRequest {
        pinned: pin(other, 0),
        ..in_session(2, 64, "s")
    };
    assert_eq!(run(&mut router, 1.0, &own), at(other, 0));
    assert_eq!(run(&mut router, 2.0, &in_session(3, 64, "s")), bound);
}

#[test]
fn a_session_router_needs_a_session() {
    let mut router = router(with_sessions(RouterConfig::default()), 1, 1);
    assert_eq!(
        kind(router.place(0.0, &request(1, 64))),
        ErrorKind::InvalidValue
    );
    assert_eq!(
        kind(router.place(0.0, &in_session(1, 64, ""))),
        ErrorKind::InvalidValue
    );
    staged(&mut router, 0.0, &in_session(1, 64, "s"));
}
