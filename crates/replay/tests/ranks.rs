//! Workers with several data-parallel ranks.

mod common;

use common::{column, config, replay, requests, row, summary};
use serde_json::{Value, json};

fn places(rows: &[Value], changes: Value) -> Vec<(u64, u64, u64)> {
    let report = replay(rows, &config(changes));
    let places = requests(&report).into_iter().map(|row| {
        let routing = &row["routing_history"][0];
        let number = |field: &str| routing[field].as_u64().unwrap();
        (
            number("logical_worker_id"),
            number("dp_rank"),
            number("scheduler_id"),
        )
    });
    places.collect()
}

#[test]
fn round_robin_goes_through_the_workers_before_their_ranks() {
    let rows: Vec<Value> = (0..5).map(|at| row(at, 16, 1, &[at])).collect();
    let order = places(&rows, json!({"cluster": {"workers": 2, "dp_size": 2}}));
    assert_eq!(
        order,
        [(0, 0, 0), (1, 0, 2), (0, 1, 1), (1, 1, 3), (0, 0, 0)]
    );
}

#[test]
fn ranks_of_a_worker_step_together() {
    // The second request comes while rank 0 computes: with ranks that step together rank 1 starts
    // at 10 ms, and a worker of its own starts at once.
    let rows = [row(0, 16, 3, &[1]), row(4, 16, 2, &[2])];
    let tokens = |workers: u32, dp_size: u32| {
        let changes = json!({"cluster": {"workers": workers, "dp_size": dp_size}});
        let report = replay(&rows, &config(changes));
        (
            column(&report, "first_token_ms"),
            column(&report, "last_token_ms"),
        )
    };
    // Passes: 0 to 10, 10 to 20 (decode beside prefill), 20 to 21.
    let together = tokens(1, 2);
    assert_eq!(together.0, [10.0, 20.0]);
    assert_eq!(together.1, [21.0, 21.0]);
    let apart = tokens(2, 1);
    assert_eq!(apart.0, [10.0, 14.0]);
    assert_eq!(apart.1, [12.0, 15.0]);
}

#[test]
fn every_rank_has_a_cache_of_its_own() {
    let rows = [0, 50, 100].map(|time| row(time, 48, 1, &[1, 2, 3]));
    let cluster = json!({"workers": 1, "dp_size": 2});
    let report = replay(&rows, &config(json!({"cluster": cluster})));
    assert_eq!(column(&report, "reused_input_tokens"), [0, 0, 32]);

    let kv = json!({"cluster": cluster, "router": {"policy": "kv_router"}});
    let report = replay(&rows, &config(kv.clone()));
    assert_eq!(column(&report, "reused_input_tokens"), [0, 32, 32]);
    let ranks: Vec<u64> = places(&rows, kv).iter().map(|place| place.1).collect();
    assert_eq!(ranks, [ranks[0]; 3]);
}

#[test]
fn the_kv_router_spreads_over_ranks() {
    let rows: Vec<Value> = (0..4).map(|at| row(0, 16, 1, &[at])).collect();
    let kv = json!({
        "cluster": {"workers": 2, "dp_size": 2}, "router": {"policy": "kv_router"},
    });
    let mut ranks: Vec<u64> = places(&rows, kv).iter().map(|place| place.2).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [0, 1, 2, 3]);
}

#[test]
fn each_rank_counts_as_a_gpu() {
    let rows = [row(0, 16, 1, &[1])];
    let cluster = json!({"cluster": {"dp_size": 2}, "engine": {"tensor_parallel_size": 4}});
    let summary = summary(&replay(&rows, &config(cluster)));
    assert_eq!(summary["decode_gpus_per_worker"], 8);
    assert_eq!(summary["decode_worker_seconds"], 0.01);
}
