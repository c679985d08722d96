//! Faults that routers of this kind had, in sessions: each test keeps ours free of one. The
//! numbers are rows of the project's list of such faults.

mod common;

use common::*;
use kv_router::{AffinityConfig, BindingMode, RouterConfig, WorkerConfig};

// 21
#[test]
fn commits_work_in_both_pool_modes_and_a_session_waiter_can_be_cancelled() {
    let base = with_sessions(RouterConfig::default());
    for config in [
        base.clone(),
        base.for_prefill_pool(),
        base.for_decode_pool(),
    ] {
        let mut router = router(config, 3, 1);
        let first = staged(&mut router, 0.0, &in_session(1, 64, "s"));
        waits(&mut router, 0.0, &in_session(2, 64, "s"));
        waits(&mut router, 0.0, &in_session(3, 64, "s"));
        router.cancel(0.0, 2).expect("it waits");
        let released = router
            .dispatch_committed(1.0, 1, first)
            .expect("it is placed");
        assert_eq!((ids(&released), released[0].candidate), (vec![3], first));
    }
}

// 22
#[test]
fn a_failed_dispatch_leaves_no_binding() {
    let mut router = router(with_sessions(RouterConfig::default()), 2, 1);
    staged(&mut router, 0.0, &in_session(1, 64, "s"));
    assert_eq!(router.session_count(), 1);
    router.dispatch_aborted(0.0, 1).expect("it is placed");
    assert_eq!(router.session_count(), 0);
}

// 23
#[test]
fn a_retry_keeps_its_session() {
    let mut router = router(with_sessions(RouterConfig::default()), 4, 1);
    let bound = run(&mut router, 0.0, &in_session(1, 64, "s"));
    staged(&mut router, 1.0, &in_session(2, 64, "s"));
    router.dispatch_aborted(2.0, 2).expect("it is placed");
    assert_eq!(staged(&mut router, 3.0, &in_session(2, 64, "s")), bound);
    let rows = &router.evidence().decisions;
    let sessions: Vec<_> = rows.iter().map(|row| row.session_id.as_deref()).collect();
    assert_eq!(sessions, [Some("s"); 3]);
}

// 24, 26
#[test]
fn a_session_of_a_removed_worker_is_bound_anew_exactly_once() {
    let mut router = router(with_sessions(RouterConfig::default()), 2, 1);
    let bound = run(&mut router, 0.0, &in_session(1, 64, "s"));
    router.request_terminal(1.0, 1).expect("the clock stands");
    router
        .worker_removed(2.0, bound.worker_id)
        .expect("it exists");
    let placed = router
        .place(3.0, &in_session(2, 64, "s"))
        .expect("the other one is healthy");
    let decision = placed.decision.expect("it goes at once");
    assert!(!decision.binding_reused && decision.candidate != bound);
    waits(&mut router, 3.0, &in_session(3, 64, "s"));
    let at = decision.candidate;
    let released = router.dispatch_committed(4.0, 2, at).expect("it is placed");
    assert_eq!((ids(&released), released[0].candidate), (vec![3], at));
    // With nobody left the request is kept, not failed, and goes to the next worker that comes.
    router.worker_removed(5.0, at.worker_id).expect("it exists");
    waits(&mut router, 6.0, &in_session(4, 64, "s"));
    let worker = WorkerConfig::new(9, 1);
    assert_eq!(
        ids(&router.worker_ready(7.0, &worker).expect("the id is free")),
        [4]
    );
}

// 25
#[test]
fn a_fenced_worker_is_never_chosen_through_a_session_neither() {
    let mut router = router(with_sessions(RouterConfig::default()), 2, 1);
    let bound = run(&mut router, 0.0, &in_session(1, 64, "s"));
    router
        .worker_fenced(1.0, bound.worker_id)
        .expect("it exists");
    assert_ne!(run(&mut router, 2.0, &in_session(2, 64, "s")), bound);
}

// 27
#[test]
fn moving_one_binding_keeps_the_other_sessions() {
    let affinity = AffinityConfig {
        binding: BindingMode::Soft,
        ..AffinityConfig::default()
    };
    let config = RouterConfig {
        affinity: Some(affinity),
        ..RouterConfig::default()
    };
    let mut router = router(config, 3, 1);
    let homes = ["a", "b"].map(|name| {
        let id = u64::from(name.as_bytes()[0]);
        (name, run(&mut router, 0.0, &in_session(id, 64, name)))
    });
    let from = staged(&mut router, 1.0, &in_session(1, 64, "a"));
    let to = at((from.worker_id + 1) % 3, 0);
    router
        .dispatch_committed(1.0, 1, to)
        .expect("a soft binding moves");
    assert_eq!(run(&mut router, 2.0, &in_session(2, 64, "a")), to);
    assert_eq!(run(&mut router, 2.0, &in_session(3, 64, "b")), homes[1].1);
}
