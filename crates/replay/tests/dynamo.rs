//! The `dynamo` request trace.

mod common;

use common::{column, config, load, replay};
use serde_json::{Value, json};

fn request(id: &str, received: u64, input: u64, hashes: &[u64]) -> Value {
    json!({
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": received + 10,
        "request": {
            "request_id": id,
            "output_tokens": 2,
            "request_received_ms": received,
            "total_time_ms": 10,
            "replay": {
                "trace_block_size": 16,
                "input_length": input,
                "input_sequence_hashes": hashes,
            },
        },
    })
}

fn format(block_size: u32) -> replay::ReplayConfig {
    config(json!({"trace": {"format": "dynamo", "block_size": block_size}}))
}

#[test]
fn requests_arrive_when_they_were_received() {
    let enveloped = json!({"timestamp": 5, "event": request("b", 1000, 16, &[77])});
    let tool = json!({"schema": "dynamo.request.trace.v1", "event_type": "tool_end"});
    let rows = [request("a", 1050, 20, &[77, 78]), tool, enveloped];
    let report = replay(&rows, &format(512));
    assert_eq!(column(&report, "request_id"), ["a", "b"]);
    assert_eq!(column(&report, "arrival_time_ms"), [50.0, 0.0]);
    assert_eq!(column(&report, "input_length"), [20, 16]);
    assert_eq!(column(&report, "reused_input_tokens"), [16, 0]);
}

#[test]
fn the_trace_says_its_block_size() {
    let two = format!(
        "{}\n{}",
        request("a", 0, 16, &[1]),
        request("b", 0, 20, &[1, 2])
    );
    for block_size in [512, 16] {
        let trace = load(&two, &format(block_size)).unwrap();
        assert_eq!(trace.prefixes.len(), 2);
    }
    let error = load(&two, &format(32)).unwrap_err().to_string();
    assert!(error.contains("give --trace-block-size 16"), "{error}");
}

#[test]
fn an_engine_block_may_be_larger_than_a_trace_block() {
    let changes = json!({"trace": {"format": "dynamo"}, "engine": {"block_size": 64}});
    let rows = [
        request("a", 0, 128, &[1, 2, 3, 4, 5, 6, 7, 8]),
        request("b", 500, 128, &[1, 2, 3, 4, 5, 6, 7, 9]),
    ];
    let report = replay(&rows, &config(changes));
    assert_eq!(column(&report, "reused_input_tokens"), [0, 64]);
}

#[test]
fn wrong_events_are_refused() {
    for (pointer, value, what) in [
        ("/schema", json!("v0"), "schema is \"v0\""),
        ("/event_type", json!("end"), "event_type is \"end\""),
        (
            "/request/request_id",
            json!("a"),
            "\"a\" was given on line 1",
        ),
        (
            "/request/output_tokens",
            json!(null),
            "request.output_tokens is missing",
        ),
        (
            "/request/output_tokens",
            json!(4_294_967_297_u64),
            "output_tokens is 4294967297",
        ),
        ("/request/replay", json!(null), "request.replay is missing"),
        (
            "/request/replay/trace_block_size",
            json!(8),
            "the block size is 8",
        ),
        (
            "/request/replay/trace_block_size",
            json!(0),
            "the block size is 0",
        ),
        (
            "/request/replay/input_length",
            json!(0),
            "input_length is 0",
        ),
        (
            "/request/replay/input_length",
            json!(17),
            "1 hash ids cover 16 tokens",
        ),
        (
            "/request/replay/input_sequence_hashes",
            json!([-1]),
            "request.replay.input_sequence_hashes[0]",
        ),
    ] {
        let good = request("a", 0, 16, &[1]);
        let mut wrong = request("b", 0, 16, &[1]);
        *wrong.pointer_mut(pointer).unwrap() = value;
        let error = load(&format!("{good}\n{wrong}"), &format(512)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(":2: ") && error.contains(what), "{error}");
    }
}
