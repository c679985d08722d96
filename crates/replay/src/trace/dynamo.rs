//! The `dynamo` format: the request trace of a Dynamo frontend, version 1. JSON Lines, an event on
//! each; requests are written when they end.

use serde::Deserialize;

use super::blocks::{self, BlockSize};
use super::builder::{Builder, NewRequest};
use super::load::Format;
use super::row::not_json;
use super::{MAX_TOKENS, Place};
use crate::error::Problem;

pub(super) const SCHEMA: &str = "dynamo.request.trace.v1";
const FIX: &str = "repair or remove the line";

/// An event, or an envelope around one. Fields that say nothing about the load are left out.
#[derive(Deserialize)]
struct Event {
    event: Option<Box<Event>>,
    schema: Option<String>,
    event_type: Option<String>,
    agent_context: Option<serde::de::IgnoredAny>,
    request: Option<Request>,
}

#[derive(Deserialize)]
struct Request {
    request_id: String,
    output_tokens: Option<u64>,
    request_received_ms: Option<f64>,
    replay: Option<Replay>,
}

#[derive(Deserialize)]
struct Replay {
    trace_block_size: u32,
    input_length: u64,
    input_sequence_hashes: Vec<u64>,
}

/// Reads events.
pub(super) struct Dynamo {
    block_size: BlockSize,
}

impl Dynamo {
    pub(super) fn new(configured: u32) -> Self {
        Self {
            block_size: BlockSize::new(configured),
        }
    }
}

impl Format for Dynamo {
    fn line(&mut self, line: &str, place: Place, builder: &mut Builder) -> Result<(), Problem> {
        let mut event = parse(line)?;
        if let Some(inner) = event.event {
            event = *inner;
        }
        if event.schema.as_deref() != Some(SCHEMA) {
            return Err(Problem::new(
                format!("schema is {:?}", event.schema.unwrap_or_default()),
                format!("{SCHEMA:?}"),
                "record the trace with this schema, or remove the line",
            ));
        }
        match event.event_type.as_deref() {
            Some("request_end") => self.request(event, place, builder),
            Some("request_payload" | "tool_start" | "tool_end" | "tool_error") => Ok(()),
            other => Err(Problem::new(
                format!("event_type is {:?}", other.unwrap_or_default()),
                "request_end, request_payload, tool_start, tool_end or tool_error",
                "remove the line",
            )),
        }
    }
}

impl Dynamo {
    fn request(
        &mut self,
        event: Event,
        place: Place,
        builder: &mut Builder,
    ) -> Result<(), Problem> {
        if event.agent_context.is_some() {
            return Err(Problem::new(
                "a request with agent_context",
                "requests without one",
                "remove agent_context from every line to replay the recorded arrivals",
            ));
        }
        let request = event.request.ok_or_else(|| missing("request"))?;
        let output = request.output_tokens;
        let output = output.ok_or_else(|| missing("request.output_tokens"))?;
        let replay = request.replay.ok_or_else(|| missing("request.replay"))?;
        let block_size = self.block_size.agree(replay.trace_block_size)?;
        let input = tokens("input_length", replay.input_length, 1)?;
        let output = tokens("output_tokens", output, 0)?;
        let mut hashes = replay.input_sequence_hashes;
        blocks::fit(&mut hashes, input, block_size, place, builder)?;
        builder.add(NewRequest {
            request_id: Some(request.request_id).filter(|id| !id.is_empty()),
            input,
            output,
            timestamp: request.request_received_ms,
            hash_ids: &hashes,
            block_size,
            place,
            ..NewRequest::default()
        })
    }
}

fn parse(line: &str) -> Result<Event, Problem> {
    let mut json = serde_json::Deserializer::from_str(line);
    let event: Event = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        if error.inner().is_data() {
            return Problem::new(error.to_string(), "an event of a request trace", FIX);
        }
        not_json(line, error.inner())
    })?;
    json.end().map_err(|error| not_json(line, &error))?;
    Ok(event)
}

fn missing(field: &str) -> Problem {
    let what = format!("{field} is missing");
    Problem::new(what, "all that a replay needs to know of a request", FIX)
}

fn tokens(field: &str, value: u64, smallest: u32) -> Result<u32, Problem> {
    let fits = u32::try_from(value).ok();
    fits.filter(|tokens| (smallest..=MAX_TOKENS).contains(tokens))
        .ok_or_else(|| {
            Problem::new(
                format!("{field} is {value}"),
                format!("a whole number of tokens, {smallest} to {MAX_TOKENS}"),
                FIX,
            )
        })
}
