//! One line for each request that ended.

use std::io::{self, Write};

use serde::Serialize;

use super::summary::per_request_itl;
use crate::config::{ReplayConfig, RouterPolicy};
use crate::engine::Refusal;
use crate::ledger::{Ledger, NEVER, Readmission, Record, Status};
use crate::time::{self, Nanos};
use crate::trace::Trace;

/// What a request's line says. Times are simulated ms; fields of separate prefill and decode pools
/// are null where one pool does both.
#[derive(Debug, Serialize)]
struct Row<'a> {
    request_id: String,
    session_id: Option<&'a str>,
    turn_index: Option<u32>,
    arrival_time_ms: Option<f64>,
    dispatched_at_ms: Option<f64>,
    first_admit_ms: Option<f64>,
    terminal_time_ms: Option<f64>,
    first_token_ms: Option<f64>,
    last_token_ms: Option<f64>,
    prefill_admit_ms: Option<f64>,
    source_held_ms: Option<f64>,
    destination_reserved_ms: Option<f64>,
    destination_activated_ms: Option<f64>,
    decode_admit_ms: Option<f64>,
    source_released_ms: Option<f64>,
    ttft_ms: Option<f64>,
    ttst_ms: Option<f64>,
    e2e_latency_ms: Option<f64>,
    itl_ms: Option<f64>,
    input_length: u32,
    requested_output_length: u32,
    output_length: u32,
    reused_input_tokens: u32,
    decode_reused_input_tokens: Option<u32>,
    first_admission_g1_reused_input_tokens: Option<u32>,
    prefill_route_overlap_tokens: Option<u32>,
    decode_route_overlap_tokens: Option<u32>,
    prefill_worker_idx: Option<u32>,
    decode_worker_idx: u32,
    terminal_status: &'static str,
    rejection_reason: Option<Refusal>,
    routing_history: [Routing; 1],
    admission_history: Vec<Admission>,
    admission_count: u32,
    readmission_count: u32,
}

#[derive(Debug, Serialize)]
struct Routing {
    pool: &'static str,
    outcome: &'static str,
    queue_entered_at_ms: Option<f64>,
    released_at_ms: Option<f64>,
    queue_wait_ms: f64,
    logical_worker_id: u32,
    scheduler_id: u32,
    dp_rank: u32,
    reported_overlap_tokens: u64,
    selected_overlap_blocks: Option<u32>,
    best_available_overlap_blocks: Option<u32>,
    overlap_regret_blocks: Option<u32>,
    placement_replica_id: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Admission {
    admission_ordinal: u32,
    pool_admission_ordinal: u32,
    pool: &'static str,
    at_ms: f64,
    reused_input_tokens: u32,
    is_readmission: bool,
}

/// Writes one JSON object a line, in the order of the trace, for every request that ended.
///
/// # Errors
/// What `out` reports.
pub(super) fn write(
    trace: &Trace,
    config: &ReplayConfig,
    ledger: &Ledger,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut readmissions = ledger.readmissions.clone();
    readmissions.sort_by_key(|readmission| readmission.request);
    let mut readmissions = readmissions.as_slice();
    for (index, record) in ledger.records.iter().enumerate() {
        let index = index as u32;
        let own = readmissions
            .iter()
            .take_while(|next| next.request == index)
            .count();
        let (mine, rest) = readmissions.split_at(own);
        readmissions = rest;
        if record.status != Status::Pending {
            serde_json::to_writer(&mut *out, &row(trace, config, index, record, mine))?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn row<'a>(
    trace: &'a Trace,
    config: &ReplayConfig,
    index: u32,
    record: &Record,
    readmissions: &[Readmission],
) -> Row<'a> {
    let request = &trace.requests[index as usize];
    let span = |from, to| (from != NEVER && to != NEVER).then(|| time::to_ms(to - from));
    Row {
        request_id: trace.request_name(index),
        session_id: trace.session_name(index),
        turn_index: request.session.map(|_| request.turn),
        arrival_time_ms: at(record.arrival),
        dispatched_at_ms: at(record.placed),
        first_admit_ms: at(record.first_admit),
        terminal_time_ms: at(record.terminal),
        first_token_ms: at(record.first_token),
        last_token_ms: at(record.last_token),
        prefill_admit_ms: None,
        source_held_ms: None,
        destination_reserved_ms: None,
        destination_activated_ms: None,
        decode_admit_ms: None,
        source_released_ms: None,
        ttft_ms: span(record.arrival, record.first_token),
        ttst_ms: span(record.first_token, record.second_token),
        e2e_latency_ms: span(record.arrival, record.last_token),
        itl_ms: per_request_itl(record),
        input_length: request.input,
        requested_output_length: request.output,
        output_length: record.output,
        reused_input_tokens: record.max_reused,
        decode_reused_input_tokens: None,
        first_admission_g1_reused_input_tokens: (record.admissions > 0)
            .then_some(record.first_reused),
        prefill_route_overlap_tokens: None,
        decode_route_overlap_tokens: None,
        prefill_worker_idx: None,
        decode_worker_idx: record.worker,
        terminal_status: match record.status {
            Status::Rejected(_) => "rejected",
            Status::Completed | Status::Pending => "completed",
        },
        rejection_reason: match record.status {
            Status::Rejected(refusal) => Some(refusal),
            Status::Completed | Status::Pending => None,
        },
        routing_history: [routing(config, record)],
        admission_history: admissions(record, readmissions),
        admission_count: record.admissions,
        readmission_count: record.admissions.saturating_sub(1),
    }
}

fn routing(config: &ReplayConfig, record: &Record) -> Routing {
    let sees_caches = config.router.policy != RouterPolicy::RoundRobin;
    let seen = |blocks: u32| sees_caches.then_some(blocks);
    let queued = record.placed != record.arrival;
    Routing {
        pool: "agg",
        outcome: if queued { "queued" } else { "immediate" },
        queue_entered_at_ms: queued.then(|| time::to_ms(record.arrival)),
        released_at_ms: queued.then(|| time::to_ms(record.placed)),
        queue_wait_ms: time::to_ms(record.placed - record.arrival),
        logical_worker_id: record.worker,
        scheduler_id: record.worker * config.cluster.dp_size + record.dp_rank,
        dp_rank: record.dp_rank,
        reported_overlap_tokens: u64::from(record.overlap_blocks)
            * u64::from(config.engine.block_size),
        selected_overlap_blocks: seen(record.overlap_blocks),
        best_available_overlap_blocks: seen(record.best_overlap_blocks),
        overlap_regret_blocks: seen(record.best_overlap_blocks - record.overlap_blocks),
        placement_replica_id: None,
    }
}

fn admissions(record: &Record, readmissions: &[Readmission]) -> Vec<Admission> {
    let first = (record.first_admit, record.first_reused);
    let later = readmissions
        .iter()
        .map(|readmission| (readmission.at, readmission.reused));
    std::iter::once(first)
        .filter(|_| record.admissions > 0)
        .chain(later)
        .enumerate()
        .map(|(ordinal, (at, reused))| Admission {
            admission_ordinal: ordinal as u32,
            pool_admission_ordinal: ordinal as u32,
            pool: "agg",
            at_ms: time::to_ms(at),
            reused_input_tokens: reused,
            is_readmission: ordinal > 0,
        })
        .collect()
}

fn at(time: Nanos) -> Option<f64> {
    (time != NEVER).then(|| time::to_ms(time))
}
