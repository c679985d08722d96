//! Small traces and short ways to replay them.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use replay::report::Tool;
use replay::{Error, ReplayConfig, Report, Trace};
use serde_json::{Value, json};

/// A row of a `mooncake` trace.
pub(crate) fn row(timestamp: u64, input: u64, output: u64, hash_ids: &[u64]) -> Value {
    json!({
        "timestamp": timestamp,
        "input_length": input,
        "output_length": output,
        "hash_ids": hash_ids,
    })
}

/// A trace of these rows on disk.
pub(crate) fn file(text: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{number}.jsonl", std::process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the target folder can be written");
    path
}

/// Reads a trace of these lines.
pub(crate) fn load(text: &str, config: &ReplayConfig) -> Result<Trace, Error> {
    let path = file(text);
    let trace = Trace::load(std::slice::from_ref(&path), &config.trace, &mut |_| {
        ControlFlow::Continue(())
    });
    std::fs::remove_file(path).expect("the trace is still there");
    trace
}

/// The settings of the small examples: blocks of 16 tokens, 10 ms prefill, 1 ms decode.
pub(crate) fn config(changes: Value) -> ReplayConfig {
    let mut document = json!({
        "trace": {"block_size": 16},
        "engine": {
            "block_size": 16,
            "num_gpu_blocks": 1000,
            "timing": {"type": "fixed", "prefill_ms": 10.0, "decode_ms": 1.0},
        },
    });
    merge(&mut document, changes);
    ReplayConfig::from_json(&document.to_string()).expect("a valid configuration")
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, changes) => *into = changes,
    }
}

/// Replays rows.
pub(crate) fn replay(rows: &[Value], config: &ReplayConfig) -> Report {
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    let trace = load(&lines.join("\n"), config).expect("a valid trace");
    let outcome = replay::replay(&trace, config, &mut |_| ControlFlow::Continue(()))
        .expect("the replay ends");
    let tool = Tool {
        name: "test",
        version: "0",
        source_revision: "none",
    };
    Report::new(tool, trace, config.clone(), outcome)
}

/// The per-request rows of a report.
pub(crate) fn requests(report: &Report) -> Vec<Value> {
    let mut bytes = Vec::new();
    report
        .write_requests(&mut bytes)
        .expect("memory can be written");
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

/// A field of every request.
pub(crate) fn column(report: &Report, field: &str) -> Vec<Value> {
    requests(report)
        .iter()
        .map(|row| row[field].clone())
        .collect()
}

/// The summary as JSON.
pub(crate) fn summary(report: &Report) -> Value {
    let document: Value = serde_json::from_str(&report.to_json()).expect("the report is JSON");
    document["summary"].clone()
}
