//! Traces in other formats: nothing is lost, or the field is named.

mod common;

use std::ops::ControlFlow;

use common::{config, file, load, row};
use replay::config::TraceFormat;
use replay::{Error, Trace};
use serde_json::{Value, json};

fn read(format: &str, rows: &[Value]) -> Trace {
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    let text = lines.join("\n");
    load(&text, &config(json!({"trace": {"format": format}}))).expect("a valid trace")
}

fn converted(trace: &Trace, format: TraceFormat) -> Result<String, Error> {
    let path = file("");
    let done = trace.convert(format, &path, &mut |_| ControlFlow::Continue(()));
    let text = std::fs::read_to_string(&path).expect("the file was written");
    std::fs::remove_file(path).expect("the file is still there");
    done.map(|()| text)
}

fn lost(trace: &Trace, format: TraceFormat) -> String {
    let error = converted(trace, format).expect_err("something is lost");
    assert!(matches!(error, Error::Trace(_)), "{error}");
    error.to_string()
}

fn turns(format: &str) -> Trace {
    let first = json!({"session_id": "s", "timestamp": 5, "input_length": 16, "output_length": 4,
        "hash_ids": [1_u64 << 40]});
    let second = json!({"session_id": "s", "delay": 0.5, "input_length": 40, "output_length": 2,
        "hash_ids": [1_u64 << 40, 8, 9]});
    read(format, &[first, second])
}

fn talk() -> Trace {
    let talk = json!({"num_turns": 1, "input_prompt_length": 20, "assistant_response_length": [4],
        "tool_call_output_length": [6], "tool_call_latency": [0.25],
        "final_assistant_response_length": 3});
    read("applied-compute-agentic", &[talk])
}

#[test]
fn rows_come_out_as_they_went_in() {
    let mut hinted = row(1, 20, 3, &[1, 2]);
    hinted["request_id"] = json!("a");
    hinted["priority"] = json!(2.5);
    hinted["strict_priority"] = json!(-1);
    let trace = read("mooncake", &[row(0, 16, 2, &[1]), hinted]);
    assert_eq!(
        converted(&trace, TraceFormat::Mooncake).unwrap(),
        "{\"timestamp\":0.0,\"input_length\":16,\"output_length\":2,\"hash_ids\":[0]}\n\
         {\"request_id\":\"a\",\"timestamp\":1.0,\"input_length\":20,\"output_length\":3,\
         \"hash_ids\":[0,1],\"priority\":2.5,\"strict_priority\":-1}\n"
    );
}

#[test]
fn formats_that_hold_as_much_take_each_other() {
    use TraceFormat::{AppliedComputeAgentic, Azure, Dynamo, Mooncake, MooncakeDelta};
    let single = read(
        "mooncake",
        &[row(0, 20, 2, &[1, 2]), row(9, 30, 0, &[3, 4])],
    );
    for format in [Mooncake, MooncakeDelta, Dynamo, Azure] {
        converted(&single, format).unwrap_or_else(|error| panic!("{format}: {error}"));
    }
    converted(&turns("mooncake"), Mooncake).unwrap();
    converted(&turns("mooncake-delta"), MooncakeDelta).unwrap();
    converted(&talk(), MooncakeDelta).unwrap();
    let text = converted(&talk(), AppliedComputeAgentic).unwrap();
    assert!(text.contains("\"tool_call_latency\":[0.25]"), "{text}");
}

#[test]
fn what_would_be_lost_is_named() {
    use TraceFormat::{AppliedComputeAgentic, Azure, Dynamo, Mooncake, MooncakeDelta};
    let shared = read(
        "mooncake",
        &[row(0, 20, 2, &[1, 2]), row(9, 30, 0, &[1, 4])],
    );
    let mut named = row(0, 16, 2, &[1]);
    named["request_id"] = json!("a");
    let mut urgent = row(0, 16, 2, &[1]);
    urgent["priority"] = json!(1);
    let mut odd = row(0, 16, 2, &[1]);
    odd["colour"] = json!("red");
    let late = read(
        "mooncake",
        &[row(0, 16, 1, &[1]), row(40 * 86_400_000, 16, 1, &[2])],
    );
    for (trace, format, field) in [
        (&shared, Azure, "hash_ids"),
        (&read("mooncake", &[named]), Azure, "request_id of a"),
        (
            &read("mooncake", &[urgent]),
            Dynamo,
            "priority of request_1",
        ),
        (
            &read("mooncake", &[odd]),
            Mooncake,
            "unknown field \"colour\"",
        ),
        (&late, Azure, "TIMESTAMP"),
        (&late, AppliedComputeAgentic, "session_id of request_1"),
        (&turns("mooncake"), Azure, "session_id of request_1"),
        (&turns("mooncake"), Dynamo, "session_id of request_1"),
        (&turns("mooncake"), MooncakeDelta, "hash_ids of request_2"),
        (&turns("mooncake-delta"), Mooncake, "hash_ids of request_2"),
        (
            &turns("mooncake-delta"),
            AppliedComputeAgentic,
            "session_id of request_1",
        ),
        (&talk(), Mooncake, "hash_ids of request_2"),
    ] {
        let error = lost(trace, format);
        assert!(
            error.contains(&format!("to {format} without loss")),
            "{error}"
        );
        assert!(error.contains(field), "{field}: {error}");
    }
}
