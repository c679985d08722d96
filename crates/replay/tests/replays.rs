//! Whole replays: order, sessions, limits, routers, and what holds for all of them.

mod common;

use std::ops::ControlFlow;

use common::{column, config, load, replay, requests, row, summary};
use proptest::prelude::*;
use replay::{Error, ReplayConfig};
use serde_json::{Value, json};

fn turn(session: &str, when: Value, input: u64, output: u64, ids: &[u64]) -> Value {
    let mut row = row(0, input, output, ids);
    let fields = row.as_object_mut().unwrap();
    fields.remove("timestamp");
    fields.insert("session_id".to_string(), json!(session));
    fields.extend(when.as_object().unwrap().clone());
    row
}

#[test]
fn round_robin_goes_through_the_workers_in_order_of_arrival() {
    let config = config(json!({"cluster": {"workers": 3}}));
    let rows = [4, 3, 2, 1, 0].map(|time| row(time, 16, 1, &[time]));
    let report = replay(&rows, &config);
    assert_eq!(column(&report, "decode_worker_idx"), [1, 0, 2, 1, 0]);
}

#[test]
fn the_next_turn_arrives_a_think_time_after_the_last_one_ended() {
    let rows = [
        turn("a", json!({"timestamp": 0}), 32, 5, &[1, 2]),
        turn("a", json!({"delay": 100}), 48, 1, &[1, 2, 3]),
        turn("a", json!({}), 48, 1, &[1, 2, 3]),
    ];
    let report = replay(&rows, &config(json!({})));
    assert_eq!(column(&report, "arrival_time_ms"), [0.0, 114.0, 124.0]);
    assert_eq!(column(&report, "turn_index"), [0, 1, 2]);
    assert_eq!(column(&report, "session_id"), ["a", "a", "a"]);
    assert_eq!(column(&report, "reused_input_tokens"), [0, 32, 32]);
}

#[test]
fn timestamps_of_later_turns_are_think_times() {
    let rows = [
        turn("a", json!({"timestamp": 50}), 32, 5, &[1, 2]),
        turn("a", json!({"timestamp": 150}), 32, 1, &[1, 2]),
    ];
    let report = replay(&rows, &config(json!({})));
    assert_eq!(column(&report, "arrival_time_ms"), [0.0, 114.0]);
}

#[test]
fn a_session_goes_on_after_a_turn_that_can_never_fit() {
    let ids: Vec<u64> = (0..9).collect();
    let rows = [
        turn("a", json!({"timestamp": 0}), 32, 3, &[1, 2]),
        turn("a", json!({"delay": 5}), 144, 3, &ids),
        turn("a", json!({"delay": 5}), 32, 3, &[1, 2]),
    ];
    let report = replay(&rows, &config(json!({"engine": {"num_gpu_blocks": 4}})));
    assert_eq!(
        column(&report, "terminal_status"),
        ["completed", "rejected", "completed"]
    );
    assert_eq!(column(&report, "arrival_time_ms"), [0.0, 17.0, 22.0]);
}

fn delta(changes: Value) -> ReplayConfig {
    let mut config = config(changes);
    config.trace.format = replay::config::TraceFormat::MooncakeDelta;
    config
}

#[test]
fn a_delta_turn_holds_the_turn_before_and_its_output() {
    let rows = [
        turn("d", json!({"timestamp": 0}), 16, 4, &[1]),
        turn("d", json!({"delay": 5}), 8, 4, &[2]),
        turn("d", json!({"delay": 5}), 16, 1, &[1]),
    ];
    let report = replay(&rows, &delta(json!({})));
    assert_eq!(column(&report, "input_length"), [16, 28, 48]);
    let plain = replay(&rows, &config(json!({})));
    assert_eq!(column(&plain, "input_length"), [16, 8, 16]);
}

#[test]
fn a_delta_turn_finds_the_output_of_the_turn_before_in_the_cache() {
    // 24 + 26 tokens: 49 are computed, 3 blocks of which are complete, 2 of them across the end
    // of the prompt or inside the output.
    let rows = [
        turn("d", json!({"timestamp": 0}), 24, 26, &[1, 2]),
        turn("d", json!({"delay": 5}), 30, 1, &[3, 4]),
        turn("e", json!({"timestamp": 900}), 24, 26, &[1, 2]),
        turn("e", json!({"delay": 5}), 30, 1, &[3, 4]),
    ];
    for policy in ["round_robin", "kv_router"] {
        let report = replay(&rows, &delta(json!({"router": {"policy": policy}})));
        assert_eq!(column(&report, "input_length"), [24, 80, 24, 80]);
        // Sessions share prompts, but never outputs.
        assert_eq!(column(&report, "reused_input_tokens"), [0, 48, 16, 48]);
    }
    let routed = replay(
        &rows,
        &delta(json!({
            "cluster": {"workers": 3}, "router": {"policy": "kv_router"},
        })),
    );
    let overlaps: Vec<Value> = requests(&routed)
        .iter()
        .map(|row| row["routing_history"][0]["best_available_overlap_blocks"].clone())
        .collect();
    assert_eq!(overlaps, [0, 3, 1, 3]);
    assert_eq!(column(&routed, "reused_input_tokens"), [0, 48, 16, 48]);
}

#[test]
fn the_speedup_divides_timestamps_and_think_times() {
    let rows = [
        turn("a", json!({"timestamp": 0}), 32, 5, &[1, 2]),
        turn("a", json!({"delay": 100}), 32, 1, &[1, 2]),
        row(1000, 16, 1, &[9]),
    ];
    let report = replay(&rows, &config(json!({"load": {"speedup": 4.0}})));
    assert_eq!(column(&report, "arrival_time_ms"), [0.0, 39.0, 250.0]);
}

#[test]
fn concurrency_counts_sessions_which_keep_their_slot_while_they_think() {
    let rows = [
        turn("a", json!({"timestamp": 0}), 16, 1, &[1]),
        turn("a", json!({"delay": 50}), 16, 1, &[1]),
        row(3, 16, 1, &[2]),
        row(9000, 16, 1, &[3]),
    ];
    let arrivals = |concurrency: u32| {
        let config = config(json!({"load": {"concurrency": concurrency}}));
        column(&replay(&rows, &config), "arrival_time_ms")
    };
    assert_eq!(arrivals(1), [0.0, 60.0, 70.0, 80.0]);
    assert_eq!(arrivals(2), [0.0, 60.0, 0.0, 10.0]);
    assert_eq!(arrivals(9), [0.0, 60.0, 0.0, 0.0]);
}

#[test]
fn a_time_limit_cuts_what_is_still_running() {
    let rows = [
        row(0, 16, 1, &[1]),
        row(5, 16, 30, &[2]),
        row(500, 16, 1, &[3]),
    ];
    let report = replay(&rows, &config(json!({"stop": {"max_sim_time_ms": 25.0}})));
    assert_eq!(column(&report, "request_id"), ["request_1"]);
    let summary = summary(&report);
    assert_eq!(summary["num_requests"], 2);
    assert_eq!(summary["unfinished_requests"], 1);
    assert_eq!(summary["completed_requests"], 1);
    assert_eq!(summary["duration_ms"], 25.0);
}

#[test]
fn a_time_limit_before_anything_completes_is_the_duration() {
    let config = config(json!({"stop": {"max_sim_time_ms": 4.0}}));
    let summary = summary(&replay(&[row(0, 16, 1, &[1])], &config));
    assert_eq!(
        (&summary["duration_ms"], &summary["completed_requests"]),
        (&json!(4.0), &json!(0))
    );
}

#[test]
fn a_time_limit_after_the_end_changes_nothing() {
    let rows = [row(0, 16, 3, &[1])];
    let cut = summary(&replay(
        &rows,
        &config(json!({"stop": {"max_sim_time_ms": 500.0}})),
    ));
    assert_eq!(cut, summary(&replay(&rows, &config(json!({})))));
}

#[test]
fn goodput_counts_what_meets_every_bound() {
    // TTFT 10, 10 and 19 ms; time between tokens 1 ms, none, 1 ms.
    let rows = [
        row(0, 16, 5, &[1]),
        row(100, 16, 1, &[2]),
        row(101, 16, 3, &[3]),
    ];
    let good = |sla: Value| {
        summary(&replay(&rows, &config(json!({"sla": sla}))))["goodput_completed_requests"].clone()
    };
    assert_eq!(good(json!({"ttft_ms": 12, "itl_ms": 1})), 2);
    assert_eq!(good(json!({"ttft_ms": 19})), 3);
    assert_eq!(good(json!({"itl_ms": 0.5})), 1);
    assert_eq!(good(json!({})), Value::Null);
}

#[test]
fn pooled_and_per_request_gaps_are_both_reported() {
    // Gaps 11, 1, 1 and none: the pooled mean is 13/3 of three gaps.
    let rows = [row(0, 32, 4, &[1, 2]), row(3, 32, 1, &[3, 4])];
    let summary = summary(&replay(&rows, &config(json!({}))));
    assert_eq!(summary["max_itl_ms"], 11.0);
    assert_eq!(summary["median_itl_ms"], 1.0);
    assert_eq!(summary["mean_itl_ms"], 13.0 / 3.0);
    assert_eq!(summary["mean_tpot_ms"], 13.0 / 3.0);
    assert_eq!(summary["num_tpot_samples"], 1);
    assert_eq!(summary["max_output_token_throughput_per_user"], 1000.0);
}

#[test]
fn the_kv_router_sends_a_prompt_to_the_worker_that_holds_its_prefix() {
    let ids: Vec<u64> = (1..9).collect();
    let rows = [
        row(0, 128, 1, &ids),
        row(50, 16, 1, &[99]),
        row(100, 128, 1, &ids),
    ];
    let config = config(json!({"cluster": {"workers": 4}, "router": {"policy": "kv_router"}}));
    let report = replay(&rows, &config);
    let workers = column(&report, "decode_worker_idx");
    assert_eq!(workers[0], workers[2]);
    let routing = &requests(&report)[2]["routing_history"][0];
    assert_eq!(routing["selected_overlap_blocks"], 8);
    assert_eq!(routing["best_available_overlap_blocks"], 8);
    assert_eq!(routing["overlap_regret_blocks"], 0);
    assert_eq!(routing["reported_overlap_tokens"], 128);
}

#[test]
fn what_a_running_pass_computes_is_not_visible_before_its_end() {
    let ids: Vec<u64> = (1..9).collect();
    let config = config(json!({"cluster": {"workers": 2}, "router": {"policy": "kv_router"}}));
    let overlap = |time: u64| {
        let rows = [row(0, 128, 1, &ids), row(time, 128, 1, &ids)];
        let report = replay(&rows, &config);
        requests(&report)[1]["routing_history"][0]["best_available_overlap_blocks"].clone()
    };
    assert_eq!(overlap(9), 0);
    assert_eq!(overlap(10), 8);
}

#[test]
fn without_prefix_caching_the_router_sees_no_blocks() {
    let rows = [row(0, 64, 1, &[1, 2, 3, 4]), row(50, 64, 1, &[1, 2, 3, 4])];
    let config = config(json!({
        "cluster": {"workers": 2}, "router": {"policy": "kv_router"},
        "engine": {"enable_prefix_caching": false},
    }));
    let report = replay(&rows, &config);
    assert_eq!(
        requests(&report)[1]["routing_history"][0]["best_available_overlap_blocks"],
        0
    );
    assert_eq!(column(&report, "reused_input_tokens"), [0, 0]);
}

#[test]
fn a_router_queue_holds_requests_until_prefill_work_is_done() {
    let config = config(json!({
        "cluster": {"workers": 1},
        "engine": {"max_num_batched_tokens": 160},
        "router": {"policy": "kv_router", "queue_threshold": 0.1},
    }));
    let ids = |from: u64, count: u64| (from..from + count).collect::<Vec<_>>();
    let rows = [
        row(0, 160, 2, &ids(0, 10)),
        row(1, 128, 2, &ids(20, 8)),
        row(2, 32, 2, &ids(40, 2)),
    ];
    let report = replay(&rows, &config);
    assert_eq!(column(&report, "terminal_status"), ["completed"; 3]);
    let routing: Vec<Value> = requests(&report)
        .iter()
        .map(|row| row["routing_history"][0].clone())
        .collect();
    assert_eq!(routing[0]["outcome"], "immediate");
    assert_eq!(routing[1]["outcome"], "queued");
    assert_eq!(routing[1]["queue_entered_at_ms"], 1.0);
    assert_eq!(routing[1]["queue_wait_ms"], 9.0);
}

#[test]
fn priorities_order_the_router_queue_and_are_named_where_nothing_queues() {
    let ids = |from: u64, count: u64| (from..from + count).collect::<Vec<_>>();
    let mut rows = [
        row(0, 160, 2, &ids(0, 10)),
        row(1, 128, 2, &ids(20, 8)),
        row(2, 32, 2, &ids(40, 2)),
        row(3, 96, 2, &ids(60, 6)),
    ];
    let queue = |policy: &str| {
        config(json!({
            "engine": {"max_num_batched_tokens": 160},
            "router": {"policy": "kv_router", "queue_threshold": 0.1, "queue_policy": policy},
        }))
    };
    let order = |rows: &[Value], policy: &str| {
        let report = replay(rows, &queue(policy));
        let placed = column(&report, "dispatched_at_ms");
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|&a, &b| {
            placed[a]
                .as_f64()
                .unwrap()
                .total_cmp(&placed[b].as_f64().unwrap())
        });
        order
    };
    assert_eq!(order(&rows, "fcfs"), [0, 1, 2, 3]);
    assert_eq!(order(&rows, "lcfs"), [0, 3, 2, 1]);
    assert_eq!(order(&rows, "wspt"), [0, 2, 3, 1]);
    rows[2]["priority"] = json!(5);
    rows[3]["strict_priority"] = json!(1);
    assert_eq!(order(&rows, "fcfs"), [0, 3, 2, 1]);

    let codes = |config: &ReplayConfig| -> Vec<&str> {
        let report = replay(&rows, config);
        report
            .trace()
            .warnings
            .iter()
            .map(|warning| warning.code)
            .collect()
    };
    assert_eq!(codes(&queue("fcfs")), [""; 0]);
    assert_eq!(codes(&config(json!({}))), ["unused-priority"]);
}

#[test]
fn the_seed_decides_between_equal_workers() {
    let rows: Vec<Value> = (0..40).map(|at| row(at * 100, 16, 1, &[at])).collect();
    let workers = |seed: u64| {
        let config = config(json!({
            "cluster": {"workers": 4}, "router": {"policy": "kv_router"}, "seed": seed,
        }));
        column(&replay(&rows, &config), "decode_worker_idx")
    };
    assert_eq!(workers(1), workers(1));
    assert_ne!(workers(1), workers(2));
}

#[test]
fn a_replay_ends_when_the_host_asks() {
    let config = config(json!({}));
    let trace = load(
        &row(0, 16, 100_000, &[1]).to_string(),
        &ReplayConfig::default(),
    )
    .unwrap();
    let config = ReplayConfig {
        engine: replay::config::EngineConfig {
            num_gpu_blocks: 10_000,
            ..config.engine
        },
        ..config
    };
    let result = replay::replay(&trace, &config, &mut |_| ControlFlow::Break(()));
    assert!(matches!(result, Err(Error::Interrupted)));
}

#[test]
fn a_long_request_takes_no_memory_for_its_passes() {
    let config = config(json!({"engine": {"num_gpu_blocks": 200_000}}));
    let report = replay(&[row(0, 16, 3_000_000, &[1])], &config);
    let summary = summary(&report);
    assert_eq!(summary["forward_passes"], 3_000_000);
    assert_eq!(summary["max_itl_ms"], 1.0);
}

fn any_rows() -> impl Strategy<Value = Vec<Value>> {
    let ids = prop::collection::vec(0..6u64, 1..7);
    let fields = (0..300u64, 1..100u64, 0..60u64, ids, any::<bool>());
    prop::collection::vec(fields, 1..25).prop_map(|rows| {
        let rows = rows.into_iter().enumerate();
        rows.map(|(index, (time, cut, output, mut ids, own))| {
            if own {
                ids.push(1000 + index as u64);
            }
            let input = (ids.len() as u64 * 16).saturating_sub(cut % 16).max(1);
            row(time, input, output, &ids)
        })
        .collect()
    })
}

/// The same rows as turns of a few sessions.
fn in_sessions(rows: Vec<Value>) -> Vec<Value> {
    let mut open = std::collections::HashSet::new();
    let rows = rows.into_iter().enumerate();
    rows.map(|(index, mut row)| {
        let session = index * 7 % 4;
        let fields = row.as_object_mut().unwrap();
        fields.insert("session_id".to_string(), json!(session));
        if !open.insert(session) {
            fields.remove("timestamp");
            fields.insert("delay".to_string(), json!(index * 13 % 40));
        }
        row
    })
    .collect()
}

fn any_config() -> impl Strategy<Value = ReplayConfig> {
    let engine = (4..40u32, 1..5u32, 16..200u32, any::<bool>(), any::<bool>());
    let cluster = (
        1..4u32,
        any::<bool>(),
        prop::option::of(1..4u32),
        any::<bool>(),
    );
    (engine, cluster).prop_map(|(engine, (workers, kv, concurrency, queue))| {
        let (blocks, sequences, budget, caching, chunks) = engine;
        let mut router = json!({"policy": if kv { "kv_router" } else { "round_robin" }});
        if kv && queue {
            router["queue_threshold"] = json!(0.5);
        }
        config(json!({
            "engine": {
                "num_gpu_blocks": blocks, "max_num_seqs": sequences,
                "max_num_batched_tokens": budget, "enable_prefix_caching": caching,
                "enable_chunked_prefill": chunks, "timing": {"type": "polynomial"},
            },
            "cluster": {"workers": workers},
            "router": router,
            "load": {"concurrency": concurrency},
        }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_request_ends_and_the_bytes_repeat(
        rows in any_rows(), config in any_config(), sessions in 0..3u32,
    ) {
        let (mut rows, mut config) = (rows, config);
        if sessions > 0 {
            rows = in_sessions(rows);
            config.engine.num_gpu_blocks *= 3;
        }
        if sessions > 1 {
            config.trace.format = replay::config::TraceFormat::MooncakeDelta;
        }
        let report = replay(&rows, &config);
        let found = requests(&report);
        prop_assert_eq!(found.len(), rows.len());
        for row in &found {
            let number = |field: &str| row[field].as_f64();
            let times = [
                "arrival_time_ms", "dispatched_at_ms", "first_admit_ms", "first_token_ms",
                "last_token_ms", "terminal_time_ms",
            ];
            prop_assert!(times.iter().filter_map(|field| number(field)).is_sorted(), "{}", row);
            prop_assert!(sessions < 2 || row["turn_index"].is_u64());
            prop_assert!(number("reused_input_tokens") <= number("input_length"));
            if row["terminal_status"] == "completed" {
                prop_assert_eq!(&row["output_length"], &row["requested_output_length"]);
            }
            if !config.engine.enable_prefix_caching {
                prop_assert_eq!(&row["reused_input_tokens"], 0);
            }
        }
        let again = replay(&rows, &config);
        prop_assert_eq!(report.to_json(), again.to_json());
        prop_assert_eq!(found, requests(&again));
    }
}
