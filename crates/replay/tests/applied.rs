//! Conversations of the `applied-compute-agentic` format.

mod common;

use common::{column, config, load, replay};
use serde_json::{Value, json};

fn talk() -> Value {
    json!({
        "num_turns": 1,
        "input_prompt_length": 20,
        "assistant_response_length": [4],
        "tool_call_output_length": [6],
        "tool_call_latency": [0.2],
        "final_assistant_response_length": 3,
    })
}

fn format(load: Value) -> replay::ReplayConfig {
    config(json!({"trace": {"format": "applied-compute-agentic"}, "load": load}))
}

#[test]
fn a_conversation_is_a_session_that_grows() {
    let report = replay(&[talk(), talk()], &format(json!({"concurrency": 1})));
    assert_eq!(column(&report, "input_length"), [20, 30, 20, 30]);
    assert_eq!(column(&report, "output_length"), [4, 3, 4, 3]);
    assert_eq!(column(&report, "turn_index"), [0, 1, 0, 1]);
    // 10 ms prefill and 1 ms for each token but the first; the tool takes 200 ms.
    let end = column(&report, "terminal_time_ms")[0].as_f64().unwrap();
    assert_eq!(column(&report, "arrival_time_ms")[1], end + 200.0);
    // The conversation reuses its own blocks, not those of another.
    assert_eq!(column(&report, "reused_input_tokens"), [0, 16, 0, 16]);
}

#[test]
fn without_slots_there_is_no_time_to_start_at() {
    let config = format(json!({}));
    let trace = load(&talk().to_string(), &config).unwrap();
    let watch = &mut |_| std::ops::ControlFlow::Continue(());
    let error = replay::replay(&trace, &config, watch).unwrap_err();
    assert!(
        error.to_string().starts_with("load.concurrency: "),
        "{error}"
    );
}

#[test]
fn wrong_conversations_are_refused() {
    for (field, value, what) in [
        (
            "num_turns",
            json!(2),
            "assistant_response_length has 1 entries, but num_turns is 2",
        ),
        (
            "tool_call_latency",
            json!([-1.0]),
            "tool_call_latency holds -1",
        ),
        (
            "tool_call_output_length",
            json!([1.5]),
            "tool_call_output_length",
        ),
        ("input_prompt_length", json!(0), "a prompt of 0 tokens"),
        (
            "input_prompt_length",
            json!(1_000_000_000),
            "1000000013 in all",
        ),
        ("num_turn", json!(1), "num_turn"),
    ] {
        let mut wrong = talk();
        wrong[field] = value;
        let text = format!("{}\n{wrong}", talk());
        let error = load(&text, &format(json!({}))).unwrap_err().to_string();
        assert!(error.contains(":2: ") && error.contains(what), "{error}");
    }
}
