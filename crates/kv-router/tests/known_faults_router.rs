//! Faults that routers of this kind had, in workers, load and queue: each test keeps ours free of one. The
//! numbers are rows of the project's list of such faults.

mod common;

use common::*;
use kv_router::{
    ClassConfig, ErrorKind, MAX_CLOCK_MS, OfflineRouter, PlaceRequest, PolicyConfig, QueuePolicy,
    RouterConfig, WorkerConfig,
};

// 1
#[test]
fn worker_removed_without_drain_is_never_selected_and_can_come_back() {
    let mut router = router(RouterConfig::default(), 2, 1);
    store(&mut router, 0.0, at(1, 0), 1, 4);
    router.worker_removed(1.0, 1).expect("it exists");
    let prompt = chain(1, 4);
    let cached = |id| PlaceRequest {
        sequence_hashes: &prompt,
        ..request(id, 64)
    };
    assert!((0..50).all(|id| staged(&mut router, 1.0, &cached(id)).worker_id == 0));
    router
        .worker_ready(2.0, &workers(2, 1)[1])
        .expect("the id is free");
    let decision = router
        .place(2.0, &cached(99))
        .expect("it is valid")
        .decision;
    let decision = decision.expect("it goes at once");
    assert_eq!(decision.candidate, at(1, 0), "it is idle");
    assert_eq!(
        decision.best_available_overlap_blocks, 0,
        "its cache is empty"
    );
}

// 2
#[test]
fn abort_without_affinity_releases_the_queued_request_in_the_same_call() {
    for config in [queueing(), with_sessions(queueing())] {
        let mut router = router(config, 1, 1);
        staged(&mut router, 0.0, &in_session(1, 64, "a"));
        waits(&mut router, 0.0, &in_session(2, 64, "b"));
        assert_eq!(
            ids(&router.dispatch_aborted(1.0, 1).expect("it is placed")),
            [2]
        );
        assert_eq!(router.pending_count(), 0);
    }
}

// 3
#[test]
fn work_of_a_drain_does_not_grow_with_unrelated_waiters() {
    let touches = |unrelated: u64| {
        let mut router = router(queueing(), 3, 1);
        for worker in 0..3 {
            run(
                &mut router,
                0.0,
                &PlaceRequest {
                    pinned: pin(worker, 0),
                    ..request(worker.into(), 64)
                },
            );
        }
        for id in 0..unrelated {
            let worker = (id % 2) as u32;
            waits(
                &mut router,
                0.0,
                &PlaceRequest {
                    pinned: pin(worker, 0),
                    ..request(10 + id, 64)
                },
            );
        }
        waits(
            &mut router,
            0.0,
            &PlaceRequest {
                pinned: pin(2, 0),
                ..request(5, 64)
            },
        );
        let before = router.scheduler().drain_touches();
        assert_eq!(
            ids(&router.prefill_completed(1.0, 2).expect("it is placed")),
            [5]
        );
        router.scheduler().drain_touches() - before
    };
    assert_eq!([128, 1024, 4096, 16_384].map(touches), [touches(0); 4]);
}

// 5
#[test]
fn adding_and_removing_workers_under_queued_requests_never_errors() {
    let mut router = router(queueing(), 1, 1);
    run(&mut router, 0.0, &request(0, 64));
    for id in 1..=20 {
        waits(&mut router, 0.0, &request(id, 64));
    }
    let mut placed = 0;
    for round in 0..20 {
        let (id, now_ms) = (1 + round % 3, f64::from(round));
        let released = router
            .worker_ready(now_ms, &WorkerConfig::new(id, 2))
            .expect("it is new");
        placed += released.len();
        commit(&mut router, now_ms, &released);
        placed += router.worker_removed(now_ms, id).expect("it exists").len();
    }
    assert_eq!(
        (placed, router.pending_count()),
        (20, 0),
        "two a round, ten rounds"
    );
}

// 14
#[test]
fn live_bookings_never_expire() {
    let mut router = router(RouterConfig::default(), 1, 1);
    run(&mut router, 0.0, &request(1, 5000));
    router
        .advance_clock(30.0 * 86_400_000.0)
        .expect("the clock moves on");
    let load = router.scheduler().loads()[0];
    assert_eq!(
        (load.active_requests, load.active_prefill_tokens),
        (1, 5000)
    );
}

// 15
#[test]
fn a_pin_that_cannot_be_served_has_its_own_error_while_others_are_healthy() {
    let mut router = router(RouterConfig::default(), 2, 1);
    router.worker_overloaded(0.0, 0, true).expect("it exists");
    let pinned = PlaceRequest {
        pinned: pin(0, 0),
        ..request(1, 64)
    };
    let error = router
        .place(0.0, &pinned)
        .expect_err("the pinned worker is overloaded");
    assert_eq!(
        (error.kind(), error.field()),
        (ErrorKind::PinnedOverloaded, "pinned")
    );
    assert_eq!(staged(&mut router, 0.0, &request(1, 64)), at(1, 0));
}

// 16
#[test]
fn cancelling_removes_from_head_count_and_limits_at_once() {
    let class = ClassConfig {
        request_queue_limit_per_worker: Some(2),
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
    let mut router = router(config, 1, 1);
    run(&mut router, 0.0, &request(1, 64));
    waits(&mut router, 0.0, &request(2, 64));
    waits(&mut router, 0.0, &request(3, 64));
    router.cancel(1.0, 2).expect("it waits");
    assert_eq!(router.pending_count(), 1);
    waits(&mut router, 1.0, &request(4, 64));
    assert_eq!(
        ids(&router.prefill_completed(2.0, 1).expect("it is placed")),
        [3]
    );
    assert_eq!(kind(router.cancel(2.0, 2)), ErrorKind::UnknownRequest);
}

// 17
#[test]
fn a_pinned_waiter_waits_in_the_lane_of_its_pin() {
    let mut router = router(queueing(), 2, 1);
    for worker in 0..2 {
        run(
            &mut router,
            0.0,
            &PlaceRequest {
                pinned: pin(worker, 0),
                ..request(worker.into(), 64)
            },
        );
    }
    waits(
        &mut router,
        0.0,
        &PlaceRequest {
            pinned: pin(1, 0),
            ..request(2, 64)
        },
    );
    assert_eq!(
        router.prefill_completed(1.0, 0),
        Ok(vec![]),
        "worker 0 is not its worker"
    );
    let released = router.prefill_completed(1.0, 1).expect("it is placed");
    assert_eq!((ids(&released), released[0].candidate), (vec![2], at(1, 0)));
}

// 18
#[test]
fn large_requests_do_not_starve_under_wspt() {
    let config = RouterConfig {
        router_queue_policy: QueuePolicy::Wspt,
        wspt_max_wait_ms: 50.0,
        ..queueing()
    };
    let mut router = router(config, 1, 1);
    run(&mut router, 0.0, &request(0, 64));
    waits(&mut router, 0.0, &request(1, 1_000_000));
    let (mut now_ms, mut running, mut passed) = (0.0, 0, 0);
    while running != 1 {
        waits(&mut router, now_ms, &request(2 + passed, 1));
        now_ms += 10.0;
        running = router
            .prefill_completed(now_ms, running)
            .expect("it is placed")[0]
            .request_id;
        passed += 1;
    }
    assert_eq!((now_ms, passed), (50.0, 5));
}

// 19
#[test]
fn lcfs_serves_the_latest_arrival_first() {
    let config = RouterConfig {
        router_queue_policy: QueuePolicy::Lcfs,
        ..queueing()
    };
    let mut router = router(config, 1, 1);
    run(&mut router, 0.0, &request(1, 64));
    for id in 2..6 {
        waits(&mut router, id as f64, &request(id, 64));
    }
    assert_eq!(serve_all(&mut router, 6.0, 1), [1, 5, 4, 3, 2]);
}

// 20
#[test]
fn the_refusal_does_not_depend_on_the_order_of_changes() {
    let changes: [fn(&mut OfflineRouter); 2] = [
        |router| drop(router.worker_overloaded(0.0, 0, true).expect("it exists")),
        |router| drop(router.worker_draining(0.0, 1).expect("it exists")),
    ];
    let refused = |order: [usize; 2]| {
        let mut router = router(RouterConfig::default(), 2, 1);
        order
            .iter()
            .for_each(|change| changes[*change](&mut router));
        kind(router.place(0.0, &request(1, 64)))
    };
    assert_eq!(refused([0, 1]), ErrorKind::AllOverloaded);
    assert_eq!(refused([1, 0]), ErrorKind::AllOverloaded);
}

// 20, the other half
#[test]
fn a_clock_that_overflows_or_goes_back_is_refused_without_a_trace() {
    let mut router = router(RouterConfig::default(), 1, 1);
    run(&mut router, 7.0, &request(1, 64));
    let digest = router.state_digest();
    for bad in [f64::NAN, f64::NEG_INFINITY, MAX_CLOCK_MS * 2.0, -3.0] {
        assert_eq!(
            kind(router.request_terminal(bad, 1)),
            ErrorKind::ClockInvalid
        );
    }
    assert_eq!(
        kind(router.request_terminal(6.0, 1)),
        ErrorKind::ClockBackwards
    );
    assert_eq!(router.state_digest(), digest);
    router
        .request_terminal(MAX_CLOCK_MS, 1)
        .expect("the largest time is fine");
}

// 28
#[test]
fn equal_decode_workers_share_evenly_and_a_seed_repeats() {
    let choices = |seed| {
        let config = RouterConfig {
            seed,
            ..RouterConfig::default()
        }
        .for_decode_pool();
        let mut router = router(config, 4, 1);
        let choices = (0..400).map(|id| {
            let chosen = staged(&mut router, 0.0, &request(id, 64)).worker_id;
            router.cancel(0.0, id).expect("it is not dispatched");
            chosen
        });
        choices.collect::<Vec<_>>()
    };
    let first = choices(7);
    for worker in 0..4 {
        let count = first.iter().filter(|chosen| **chosen == worker).count();
        assert!(
            (60..140).contains(&count),
            "worker {worker}: {count} of 400"
        );
    }
    assert_eq!(choices(7), first);
    assert_ne!(choices(8), first);
}

// 29
#[test]
fn output_load_is_the_sum_over_requests() {
    let config = RouterConfig {
        router_track_output_blocks: true,
        ..RouterConfig::default()
    };
    let mut router = router(config, 1, 1);
    for id in [1, 2] {
        run(&mut router, 0.0, &request(id, 8));
        for _ in 0..=id {
            router
                .add_output_block(0.0, id, None)
                .expect("output is tracked");
        }
    }
    assert_eq!(router.scheduler().loads()[0].active_blocks, 2 + 3);
}

// 33
#[test]
fn a_router_owns_all_it_has_and_moves_between_threads_as_a_value() {
    let mut router = router(queueing(), 2, 1);
    run(&mut router, 0.0, &request(1, 64));
    let router = std::thread::spawn(move || router).join().expect("it moves");
    drop(router);
}

// 34
#[test]
fn two_routers_keep_their_own_configuration() {
    let mut queues = router(queueing(), 1, 1);
    let mut places = router(RouterConfig::default(), 1, 1);
    for router in [&mut queues, &mut places] {
        staged(router, 0.0, &request(1, 64));
        router.place(0.0, &request(2, 64)).expect("it is valid");
    }
    assert_eq!((queues.pending_count(), places.pending_count()), (1, 0));
}
