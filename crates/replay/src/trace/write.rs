//! A trace as rows of a format. A field that the format has no place for is left out; reading the
//! file back shows it.

use std::io::Write;

use serde::Serialize;
use serde_json::json;

use super::convert::Unwritten;
use super::{Trace, azure, dynamo};
use crate::config::TraceFormat;
use crate::time;

/// A row of `mooncake` and `mooncake-delta`.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<f64>,
    input_length: u32,
    output_length: u32,
    hash_ids: Vec<u32>,
    #[serde(skip_serializing_if = "is_zero")]
    priority: f64,
    #[serde(skip_serializing_if = "is_zero")]
    strict_priority: i32,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes every request.
pub(super) fn write(
    trace: &Trace,
    format: TraceFormat,
    out: &mut dyn Write,
) -> Result<(), Unwritten> {
    match format {
        TraceFormat::Mooncake => mooncake(trace, false, out),
        TraceFormat::MooncakeDelta => mooncake(trace, true, out),
        TraceFormat::Azure => csv(trace, out),
        TraceFormat::AppliedComputeAgentic => conversations(trace, out),
        TraceFormat::Dynamo => events(trace, out),
    }
}

fn mooncake(trace: &Trace, delta: bool, out: &mut dyn Write) -> Result<(), Unwritten> {
    let mut bases = vec![0; trace.requests.len()];
    for (index, request) in (0..).zip(&trace.requests) {
        let base = bases[index as usize];
        if let Some(next) = request.next_turn.filter(|_| delta) {
            bases[next as usize] = request.input + request.output;
        }
        let hints = trace.hints.get(&index).copied().unwrap_or_default();
        let name = trace.request_ids.get(index as usize);
        let row = Row {
            request_id: name.and_then(Option::as_deref),
            session_id: trace.session_name(index),
            timestamp: (request.turn == 0).then(|| time::to_ms(request.at)),
            delay: (request.turn > 0).then(|| time::to_ms(request.delay)),
            input_length: added(trace, index, base)?,
            output_length: request.output,
            hash_ids: hash_ids(trace, index, base)?,
            priority: hints.priority_jump,
            strict_priority: hints.strict_priority,
        };
        line(out, &row)?;
    }
    Ok(())
}

fn csv(trace: &Trace, out: &mut dyn Write) -> Result<(), Unwritten> {
    writeln!(out, "{}", azure::COLUMNS.join(","))?;
    for request in &trace.requests {
        let at = azure::written(request.at);
        writeln!(out, "{at},{},{}", request.input, request.output)?;
    }
    Ok(())
}

fn conversations(trace: &Trace, out: &mut dyn Write) -> Result<(), Unwritten> {
    for (index, first) in (0..)
        .zip(&trace.requests)
        .filter(|(_, first)| first.turn == 0)
    {
        let (mut responses, mut tools, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = first;
        while let Some(next) = last.next_turn {
            responses.push(last.output);
            tools.push(added(trace, next, last.input + last.output)?);
            last = &trace.requests[next as usize];
            latencies.push(time::to_ms(last.delay) / 1e3);
        }
        let talk = json!({
            "num_turns": tools.len(),
            "input_prompt_length": added(trace, index, 0)?,
            "assistant_response_length": responses,
            "tool_call_output_length": tools,
            "tool_call_latency": latencies,
            "final_assistant_response_length": last.output,
        });
        line(out, &talk)?;
    }
    Ok(())
}

fn events(trace: &Trace, out: &mut dyn Write) -> Result<(), Unwritten> {
    for (index, request) in (0..).zip(&trace.requests) {
        let received = time::to_ms(request.at);
        let event = json!({
            "schema": dynamo::SCHEMA,
            "event_type": "request_end",
            "event_time_unix_ms": received,
            "request": {
                "request_id": trace.request_name(index),
                "output_tokens": request.output,
                "request_received_ms": received,
                "replay": {
                    "trace_block_size": trace.block_size,
                    "input_length": request.input,
                    "input_sequence_hashes": hash_ids(trace, index, 0)?,
                },
            },
        });
        line(out, &event)?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, row: &impl Serialize) -> Result<(), Unwritten> {
    serde_json::to_writer(&mut *out, row)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Prompt tokens behind the first `base`, which an earlier turn gave.
fn added(trace: &Trace, request: u32, base: u32) -> Result<u32, Unwritten> {
    let added = trace.requests[request as usize].input.checked_sub(base);
    added.filter(|&tokens| tokens > 0).ok_or_else(|| {
        let name = trace.request_name(request);
        Unwritten::Lost(format!(
            "input_length of {name}, which does not hold the turn before it"
        ))
    })
}

/// Ids of the blocks behind the first `base` tokens of a prompt: the tokens that they repeat.
fn hash_ids(trace: &Trace, request: u32, base: u32) -> Result<Vec<u32>, Unwritten> {
    let (prefixes, mut ids) = (&trace.prefixes, Vec::new());
    let mut node = Some(trace.requests[request as usize].leaf);
    while let Some(at) = node.filter(|&at| prefixes.start(at) >= base) {
        if !(prefixes.start(at) - base).is_multiple_of(trace.block_size) {
            let name = trace.request_name(request);
            let what = format!("hash_ids of {name}, whose prompt holds an output between blocks");
            return Err(Unwritten::Lost(what));
        }
        ids.push(prefixes.token(at));
        node = prefixes.parent(at);
    }
    ids.reverse();
    Ok(ids)
}
