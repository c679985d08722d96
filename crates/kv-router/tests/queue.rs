//! Who goes first: policies, priorities, classes, limits, lanes.

mod common;

use common::*;
use kv_router::{
    ClassConfig, ErrorKind, OfflineRouter, PlaceRequest, PolicyConfig, QueuePolicy, RouterConfig,
};

/// The reference case: one worker, budget 160 tokens, threshold 0.1; requests 1 to 4 of 160, 128,
/// 32 and 96 tokens arrive 1 ms apart.
fn golden(policy: QueuePolicy, change: impl Fn(&mut PlaceRequest<'_>)) -> Vec<u64> {
    let config = RouterConfig {
        router_queue_threshold: Some(0.1),
        router_queue_policy: policy,
        ..RouterConfig::default()
    };
    let mut router = router(config, 1, 1);
    for (i, isl) in [160, 128, 32, 96].into_iter().enumerate() {
        let mut request = request(i as u64 + 1, isl);
        change(&mut request);
        router.place(i as f64, &request).expect("there is no limit");
    }
    assert_eq!(router.pending_count(), 3);
    serve_all(&mut router, 10.0, 1)
}

#[test]
fn golden_order_of_each_policy() {
    assert_eq!(golden(QueuePolicy::Fcfs, |_| {}), [1, 2, 3, 4]);
    assert_eq!(golden(QueuePolicy::Lcfs, |_| {}), [1, 4, 3, 2]);
    assert_eq!(golden(QueuePolicy::Wspt, |_| {}), [1, 3, 4, 2]);
}

#[test]
fn golden_order_with_priorities() {
    let order = golden(QueuePolicy::Fcfs, |request| match request.request_id {
        3 => request.priority_jump = 5.0,
        4 => request.strict_priority = 1,
        _ => {}
    });
    assert_eq!(order, [1, 4, 3, 2]);
}

#[test]
fn due_time_goes_before_the_score_and_behind_strict_priority() {
    let order = golden(QueuePolicy::Fcfs, |request| match request.request_id {
        2 => request.priority_jump = 100.0,
        3 => request.due_ms = Some(50.0),
        4 => request.due_ms = Some(40.0),
        _ => {}
    });
    assert_eq!(order, [1, 4, 3, 2]);
    let order = golden(QueuePolicy::Fcfs, |request| match request.request_id {
        2 => request.strict_priority = 1,
        3 => request.due_ms = Some(1.0),
        _ => {}
    });
    assert_eq!(order, [1, 2, 3, 4]);
}

#[test]
fn wspt_counts_cached_tokens_as_served() {
    let config = RouterConfig {
        router_queue_policy: QueuePolicy::Wspt,
        ..queueing()
    };
    let mut router = router(config, 1, 1);
    store(&mut router, 0.0, at(0, 0), 7, 9);
    run(&mut router, 0.0, &request(1, 160));
    waits(&mut router, 1.0, &request(2, 32));
    // 160 tokens, but 144 of them are cached: 16 to go.
    let cached = chain(7, 9);
    let long = PlaceRequest {
        sequence_hashes: &cached,
        ..request(3, 160)
    };
    waits(&mut router, 2.0, &long);
    assert_eq!(serve_all(&mut router, 2.0, 1), [1, 3, 2]);
}

#[test]
fn wspt_waiting_is_bounded_within_a_strict_priority() {
    let config = RouterConfig {
        router_queue_policy: QueuePolicy::Wspt,
        wspt_max_wait_ms: 100.0,
        ..queueing()
    };
    let served_at = |wait_ms: f64| {
        let mut router = router(
            RouterConfig {
                wspt_max_wait_ms: wait_ms,
                ..config.clone()
            },
            1,
            1,
        );
        run(&mut router, 0.0, &request(0, 160));
        waits(&mut router, 0.0, &request(999, 100_000));
        let (mut now, mut running) = (0.0, 0);
        for id in 1..50 {
            waits(&mut router, now, &request(id, 16));
            now += 10.0;
            let released = router
                .prefill_completed(now, running)
                .expect("it is placed");
            running = released[0].request_id;
            if running == 999 {
                return now;
            }
        }
        f64::INFINITY
    };
    // Ten short ones may pass it, one each 10 ms, and no more.
    assert_eq!(served_at(100.0), 100.0);
    assert_eq!(
        served_at(30_000.0),
        f64::INFINITY,
        "without ageing it would starve"
    );
}

fn class(name: &str, family: &str, change: impl Fn(&mut ClassConfig)) -> ClassConfig {
    let mut class = ClassConfig::new(name, family, QueuePolicy::Fcfs);
    change(&mut class);
    class
}

fn with_classes(classes: Vec<ClassConfig>) -> OfflineRouter {
    let policy = PolicyConfig {
        default_family: "a".into(),
        classes,
    };
    router(
        RouterConfig {
            router_policy_config: Some(policy),
            ..queueing()
        },
        1,
        1,
    )
}

#[test]
fn classes_share_by_quantum() {
    let mut router = with_classes(vec![
        class("a", "a", |class| class.quantum = 64),
        class("b", "b", |class| class.quantum = 32),
    ]);
    run(&mut router, 0.0, &request(0, 16));
    for id in 1..=6 {
        waits(&mut router, 0.0, &request(id, 32));
        let b = PlaceRequest {
            policy_class: Some("b"),
            ..request(10 + id, 32)
        };
        waits(&mut router, 0.0, &b);
    }
    let order = serve_all(&mut router, 0.0, 0);
    assert_eq!(order, [0, 11, 1, 2, 12, 3, 4, 13, 5, 6, 14, 15, 16]);
}

#[test]
fn the_cache_bucket_takes_a_request_by_its_uncached_tokens() {
    let mut router = with_classes(vec![
        class("short", "a", |class| {
            class.request_queue_limit_per_worker = Some(1)
        }),
        class("long", "a", |class| class.cache_bucket = 100),
    ]);
    store(&mut router, 0.0, at(0, 0), 1, 4);
    run(&mut router, 0.0, &request(0, 16));
    waits(&mut router, 0.0, &request(1, 64));
    // 128 tokens, 64 cached: short, whose limit is reached. Uncached it is long.
    let cached = chain(1, 4);
    let short = PlaceRequest {
        sequence_hashes: &cached,
        ..request(2, 128)
    };
    assert_eq!(kind(router.place(0.0, &short)), ErrorKind::QueueLimit);
    waits(&mut router, 0.0, &request(3, 128));
}

#[test]
fn limits_are_compared_before_adding_and_name_class_kind_current_and_limit() {
    for (change, limit) in [
        (
            (|class| class.request_queue_limit_per_worker = Some(2)) as fn(&mut ClassConfig),
            "2",
        ),
        (
            |class| class.raw_isl_token_queue_limit_per_worker = Some(100),
            "100",
        ),
        (
            |class| class.cached_token_queue_limit_per_worker = Some(30),
            "30",
        ),
    ] {
        let mut router = with_classes(vec![class("only", "a", change)]);
        store(&mut router, 0.0, at(0, 0), 1, 1);
        let cached = chain(1, 1);
        let prompt = |id| PlaceRequest {
            sequence_hashes: &cached,
            ..request(id, 64)
        };
        run(&mut router, 0.0, &request(0, 16));
        waits(&mut router, 0.0, &prompt(1));
        waits(&mut router, 0.0, &prompt(2));
        let error = router
            .place(0.0, &prompt(3))
            .expect_err("the limit is reached");
        assert_eq!(error.kind(), ErrorKind::QueueLimit);
        assert!(error.field().contains("only"), "{error}");
        assert!(error.expected().contains(limit), "{error}");
        router.cancel(0.0, 1).expect("it waits");
        waits(&mut router, 0.0, &prompt(3));
    }
}

#[test]
fn limits_grow_with_the_candidates() {
    let only = class("only", "a", |class| {
        class.request_queue_limit_per_worker = Some(1)
    });
    let policy = PolicyConfig {
        default_family: "a".into(),
        classes: vec![only],
    };
    let config = RouterConfig {
        router_policy_config: Some(policy),
        ..queueing()
    };
    let mut router = router(config, 1, 2);
    for id in 0..4 {
        router
            .place(0.0, &request(id, 64))
            .expect("two run and two wait");
    }
    assert_eq!(router.pending_count(), 2);
    assert_eq!(
        kind(router.place(0.0, &request(4, 64))),
        ErrorKind::QueueLimit
    );
}

#[test]
fn an_unknown_policy_class_is_refused_by_name() {
    let mut router = with_classes(vec![class("a", "a", |_| {})]);
    let stray = PlaceRequest {
        policy_class: Some("gold"),
        ..request(1, 16)
    };
    let error = router
        .place(0.0, &stray)
        .expect_err("there is no such family");
    assert_eq!(
        (error.kind(), error.value()),
        (ErrorKind::InvalidValue, "gold")
    );
    let known = PlaceRequest {
        policy_class: Some("a"),
        ..request(1, 16)
    };
    staged(&mut router, 0.0, &known);
}

#[test]
fn a_blocked_lane_does_not_block_others() {
    let mut router = router(queueing(), 2, 1);
    run(&mut router, 0.0, &request(0, 64));
    run(&mut router, 0.0, &request(1, 64));
    waits(
        &mut router,
        0.0,
        &PlaceRequest {
            pinned: pin(0, 0),
            ..request(2, 64)
        },
    );
    waits(
        &mut router,
        0.0,
        &PlaceRequest {
            pinned: pin(1, 0),
            ..request(3, 64)
        },
    );
    waits(&mut router, 0.0, &request(4, 64));
    let on_1 = router.scheduler().loads()[1].candidate;
    let first_on_1 = if on_1 == at(1, 0) { 1 } else { 0 };
    let released = router
        .prefill_completed(1.0, first_on_1)
        .expect("it is placed");
    assert_eq!(ids(&released).len(), 1);
    assert_ne!(ids(&released), [2], "worker 0 is still busy");
}

#[test]
fn busy_worker_ratio_holds_before_all_are_busy() {
    let half = class("half", "a", |class| class.busy_worker_ratio = Some(0.5));
    let policy = PolicyConfig {
        default_family: "a".into(),
        classes: vec![half],
    };
    let config = RouterConfig {
        router_policy_config: Some(policy),
        ..queueing()
    };
    let mut router = router(config, 4, 1);
    for id in 0..2 {
        staged(&mut router, 0.0, &request(id, 64));
    }
    waits(&mut router, 0.0, &request(2, 64));
    assert_eq!(
        ids(&router.prefill_completed(1.0, 0).expect("it is placed")),
        [2]
    );
}

#[test]
fn thresholds_count_tokens_or_a_share_of_the_budget() {
    for (change, free) in [
        (
            (|class| class.prefill_busy_threshold = Some(64)) as fn(&mut ClassConfig),
            64,
        ),
        (|class| class.prefill_busy_threshold_frac = Some(0.4), 64),
    ] {
        let mut router = with_classes(vec![class("only", "a", change)]);
        staged(&mut router, 0.0, &request(0, free));
        staged(&mut router, 0.0, &request(1, 1));
        waits(&mut router, 0.0, &request(2, 1));
    }
}

#[test]
fn without_a_threshold_nothing_queues() {
    let mut router = router(RouterConfig::default(), 1, 1);
    for id in 0..100 {
        staged(&mut router, 0.0, &request(id, 10_000));
    }
}
