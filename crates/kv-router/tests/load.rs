//! What a booking puts on its candidate, and how it goes again.

mod common;

use common::*;
use kv_router::{
    CandidateLoad, ErrorKind, LocalScheduler, OfflineRouter, PlaceRequest, PrefillLoadModel,
    RouterConfig,
};

fn load(router: &OfflineRouter) -> CandidateLoad {
    router.scheduler().loads()[0]
}

fn prompt(id: u64, hashes: &[u64]) -> PlaceRequest<'_> {
    PlaceRequest {
        sequence_hashes: hashes,
        ..request(id, hashes.len() as u32 * BLOCK)
    }
}

#[test]
fn shared_prompt_blocks_count_once_until_the_last_request_ends() {
    let mut router = router(RouterConfig::default(), 1, 1);
    let (short, long) = (chain(1, 4), chain(1, 10));
    let branch: Vec<_> = chain(1, 4).into_iter().chain(chain(2, 3)).collect();
    run(&mut router, 0.0, &prompt(1, &long));
    assert_eq!(load(&router).active_blocks, 10);
    run(&mut router, 0.0, &prompt(2, &short));
    run(&mut router, 0.0, &prompt(3, &branch));
    assert_eq!(load(&router).active_blocks, 13);
    router.request_terminal(1.0, 1).expect("the clock stands");
    assert_eq!(load(&router).active_blocks, 7);
    router.request_terminal(1.0, 3).expect("the clock stands");
    assert_eq!(load(&router).active_blocks, 4);
    router.request_terminal(1.0, 2).expect("the clock stands");
    assert_eq!(
        (load(&router).active_blocks, load(&router).active_requests),
        (0, 0)
    );
}

#[test]
fn prefill_complete_and_the_end_are_idempotent() {
    let mut router = router(RouterConfig::default(), 1, 1);
    run(&mut router, 0.0, &request(1, 100));
    run(&mut router, 0.0, &request(2, 50));
    assert_eq!(load(&router).active_prefill_tokens, 150);
    for _ in 0..2 {
        router.prefill_completed(1.0, 1).expect("the clock stands");
        assert_eq!(load(&router).active_prefill_tokens, 50);
    }
    for _ in 0..2 {
        router.request_terminal(1.0, 2).expect("the clock stands");
        assert_eq!(
            load(&router).active_prefill_tokens,
            0,
            "the end implies prefill complete"
        );
        assert_eq!(load(&router).active_requests, 1);
    }
}

#[test]
fn only_uncached_tokens_are_prefill_load() {
    let mut router = router(RouterConfig::default(), 1, 1);
    store(&mut router, 0.0, at(0, 0), 1, 3);
    let hashes = chain(1, 5);
    run(
        &mut router,
        0.0,
        &PlaceRequest {
            isl_tokens: 90,
            ..prompt(1, &hashes)
        },
    );
    assert_eq!(load(&router).active_prefill_tokens, 90 - 48);
}

#[test]
fn output_blocks_decay_with_the_unshared_prompt() {
    let config = RouterConfig {
        router_track_output_blocks: true,
        ..RouterConfig::default()
    };
    let mut router = router(config, 1, 1);
    let (short, long) = (chain(1, 4), chain(1, 10));
    run(&mut router, 0.0, &prompt(1, &long));
    run(&mut router, 0.0, &prompt(2, &short));
    for _ in 0..6 {
        router
            .add_output_block(1.0, 1, None)
            .expect("output is tracked");
    }
    assert_eq!(load(&router).active_blocks, 16);
    // 4 shared in full; 6 of the prompt and 7 of the output by half.
    router
        .add_output_block(1.0, 1, Some(0.5))
        .expect("output is tracked");
    assert_eq!(load(&router).active_blocks, 11, "10.5 rounds up");
    router.request_terminal(2.0, 2).expect("the clock stands");
    assert_eq!(
        load(&router).active_blocks,
        9,
        "8.5: all ten prompt blocks are its own now"
    );
    router.request_terminal(2.0, 1).expect("the clock stands");
    assert_eq!(load(&router).active_blocks, 0);
    run(&mut router, 2.0, &prompt(3, &short));
    for bad in [-0.1, 1.1, f64::NAN] {
        assert_eq!(
            kind(router.add_output_block(2.0, 3, Some(bad))),
            ErrorKind::InvalidValue
        );
    }
    assert_eq!(
        kind(router.add_output_block(2.0, 1, None)),
        ErrorKind::UnknownRequest
    );
}

#[test]
fn switches_turn_tracking_off() {
    let hashes = chain(1, 4);
    let loads = |config: RouterConfig| {
        let mut router = router(config, 1, 1);
        run(&mut router, 0.0, &prompt(1, &hashes));
        run(&mut router, 0.0, &prompt(2, &hashes));
        (
            load(&router).active_blocks,
            load(&router).active_prefill_tokens,
        )
    };
    let on = RouterConfig::default();
    assert_eq!(loads(on.clone()), (4, 128));
    assert_eq!(
        loads(RouterConfig {
            router_assume_kv_reuse: false,
            ..on.clone()
        }),
        (8, 128)
    );
    assert_eq!(
        loads(RouterConfig {
            router_track_active_blocks: false,
            ..on.clone()
        }),
        (0, 128)
    );
    assert_eq!(
        loads(RouterConfig {
            router_track_prefill_tokens: false,
            ..on
        }),
        (4, 0)
    );
    let mut plain = router(RouterConfig::default(), 1, 1);
    run(&mut plain, 0.0, &prompt(1, &hashes));
    assert_eq!(
        kind(plain.add_output_block(0.0, 1, None)),
        ErrorKind::Unsupported
    );
}

#[test]
fn potential_load_books_nothing() {
    let mut router = router(RouterConfig::default(), 2, 1);
    let (short, long) = (chain(1, 4), chain(1, 10));
    store(&mut router, 0.0, at(0, 0), 1, 4);
    run(&mut router, 0.0, &prompt(1, &short));
    let digest = router.state_digest();
    let loads = router
        .scheduler()
        .potential_loads(&prompt(2, &long))
        .expect("it is valid");
    assert_eq!(router.state_digest(), digest);
    let of = |worker: usize| {
        let load = loads[worker];
        (
            load.overlap_blocks,
            load.potential_blocks,
            load.potential_prefill_tokens,
        )
    };
    assert_eq!((of(0), of(1)), ((4, 10, 96), (0, 10, 160)));
}

#[test]
fn prefill_load_fades_over_the_modelled_time() {
    let config = RouterConfig {
        router_prefill_load_model: PrefillLoadModel::Ais,
        ..RouterConfig::default()
    };
    let modelled = |id, isl, ms| PlaceRequest {
        expected_prefill_ms: ms,
        ..request(id, isl)
    };
    let mut router = router(config, 1, 1);
    run(&mut router, 0.0, &modelled(1, 100, Some(10.0)));
    run(&mut router, 0.0, &modelled(2, 60, Some(30.0)));
    for (now_ms, tokens) in [
        (0.0, 160),
        (2.5, 135),
        (10.0, 60),
        (25.0, 30),
        (40.0, 0),
        (90.0, 0),
    ] {
        router.advance_clock(now_ms).expect("the clock moves on");
        assert_eq!(
            load(&router).active_prefill_tokens,
            tokens,
            "at {now_ms} ms"
        );
    }
    // With one that is not modelled only the oldest fades.
    for id in [1, 2] {
        router.request_terminal(90.0, id).expect("the clock stands");
    }
    run(&mut router, 100.0, &modelled(3, 100, Some(10.0)));
    run(&mut router, 100.0, &modelled(4, 60, None));
    router.advance_clock(150.0).expect("the clock moves on");
    assert_eq!(load(&router).active_prefill_tokens, 60);
    // No time is done at once.
    router.request_terminal(150.0, 3).expect("the clock stands");
    router.request_terminal(150.0, 4).expect("the clock stands");
    run(&mut router, 150.0, &modelled(5, 100, Some(0.0)));
    assert_eq!(load(&router).active_prefill_tokens, 0);
}

#[test]
fn a_wake_up_comes_exactly_when_fading_frees_a_candidate() {
    let config = RouterConfig {
        router_prefill_load_model: PrefillLoadModel::Ais,
        router_queue_threshold: Some(0.25), // of 160 tokens
        ..RouterConfig::default()
    };
    let mut router = router(config, 1, 1);
    let modelled = |id| PlaceRequest {
        expected_prefill_ms: Some(10.0),
        ..request(id, 100)
    };
    run(&mut router, 0.0, &modelled(1));
    assert_eq!(router.next_wakeup_ms(), None, "nobody waits");
    waits(&mut router, 0.0, &modelled(2));
    let wakeup = router.next_wakeup_ms().expect("time frees the worker");
    assert!(
        (wakeup - 6.0).abs() < 1e-9,
        "40 tokens are left after 6 ms, not at {wakeup}"
    );
    assert_eq!(router.advance_clock(5.9), Ok(vec![]));
    assert_eq!(
        ids(&router.advance_clock(wakeup).expect("the clock moves on")),
        [2]
    );
}

#[test]
fn attempts_fence_late_calls() {
    let mut scheduler =
        LocalScheduler::new(RouterConfig::default(), &workers(1, 1)).expect("it is valid");
    let place = |scheduler: &mut LocalScheduler| {
        let placed = scheduler
            .schedule(0.0, &request(1, 64))
            .expect("it is valid");
        Some(placed.decision.expect("it goes at once").attempt)
    };
    let first = place(&mut scheduler);
    scheduler
        .rollback(0.0, 1, first)
        .expect("it is not delivered");
    let second = place(&mut scheduler);
    assert_ne!(first, second);
    assert_eq!(kind(scheduler.free(0.0, 1, first)), ErrorKind::StaleAttempt);
    assert_eq!(
        kind(scheduler.rollback(0.0, 1, first)),
        ErrorKind::StaleAttempt
    );
    assert_eq!(
        kind(scheduler.prefill_complete(0.0, 1, first)),
        ErrorKind::StaleAttempt
    );
    assert_eq!(scheduler.active_count(), 1);
    scheduler.deliver(0.0, 1, second).expect("it is live");
    assert_eq!(
        kind(scheduler.rollback(0.0, 1, second)),
        ErrorKind::WrongState
    );
    assert_eq!(kind(scheduler.cancel(0.0, 1)), ErrorKind::WrongState);
    scheduler.free(0.0, 1, second).expect("it is live");
    assert_eq!(scheduler.active_count(), 0);
}
