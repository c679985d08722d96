//! The event loop.
//!
//! Time moves from event to event. At equal times the order is: passes that end, in order of
//! workers; arrivals, in order of the file; passes that start, in order of workers; all of it again
//! until nothing more happens at that time.

mod load;
mod placement;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use crate::config::{ReplayConfig, RouterPolicy};
use crate::engine::{Engine, Job, PassEnd, Span};
use crate::error::{Error, Result};
use crate::ledger::{Ledger, Status};
use crate::time::{self, Nanos};
use crate::trace::Trace;
use load::Load;
use placement::Placement;

/// How far a replay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests that are over.
    pub ended: u64,
    /// Requests of the trace.
    pub total: u64,
    /// Simulated time.
    pub now: Nanos,
}

/// What a finished replay leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// What was written down.
    pub ledger: Ledger,
    /// Requests that arrived.
    pub arrived: u64,
    /// Simulated time at the end.
    pub end: Nanos,
    /// Whether the time limit ended the replay while there was work left.
    pub cut: bool,
}

/// Events between two calls of the host.
const EVENTS_PER_CALL: u32 = 4096;
/// A clock beyond this is nonsense (146 years).
const LAST_TIME: Nanos = Nanos::MAX / 4;

/// Replays a trace. `watch` is called now and then; when it breaks, the replay ends.
///
/// # Errors
/// [`Error::Interrupted`] when `watch` broke.
pub fn replay(
    trace: &Trace,
    config: &ReplayConfig,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome> {
    config.check()?;
    Simulation::new(trace, config).run(watch)
}

struct Simulation<'a> {
    trace: &'a Trace,
    config: &'a ReplayConfig,
    load: Load,
    placement: Placement,
    engines: Vec<Engine>,
    /// Ends of running passes.
    passes: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Workers that may be able to start a pass now.
    ready: Vec<u32>,
    ledger: Ledger,
    arrived: u64,
    ended: u64,
    spans: Vec<Span>,
    pass_end: PassEnd,
}

impl<'a> Simulation<'a> {
    fn new(trace: &'a Trace, config: &'a ReplayConfig) -> Self {
        let workers = config.cluster.workers;
        let placement = match config.router.policy {
            RouterPolicy::RoundRobin => Placement::RoundRobin { next: 0, workers },
        };
        Self {
            trace,
            config,
            load: Load::new(trace, &config.load),
            placement,
            engines: (0..workers)
                .map(|_| Engine::new(&config.engine, false))
                .collect(),
            passes: BinaryHeap::new(),
            ready: Vec::new(),
            ledger: Ledger::new(trace.requests.len()),
            arrived: 0,
            ended: 0,
            spans: Vec::new(),
            pass_end: PassEnd::default(),
        }
    }

    fn run(mut self, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Outcome> {
        let limit = self
            .config
            .stop
            .max_sim_time_ms
            .map_or(LAST_TIME, time::from_ms);
        let mut now = 0;
        let mut cut = false;
        let mut events = 0;
        while let Some(next) = self.next_time() {
            if next > limit {
                if limit == LAST_TIME {
                    let what = "the simulated clock ran past 146 years; check the timing settings";
                    return Err(Error::Internal(what.to_string()));
                }
                (now, cut) = (limit, true);
                break;
            }
            now = next;
            self.end_passes(now);
            self.take_arrivals(now);
            self.start_passes(now);
            events += 1;
            if events == EVENTS_PER_CALL {
                events = 0;
                let total = self.trace.requests.len() as u64;
                if watch(Progress {
                    ended: self.ended,
                    total,
                    now,
                })
                .is_break()
                {
                    return Err(Error::Interrupted);
                }
            }
        }
        if !cut && self.ended != self.trace.requests.len() as u64 {
            let what = format!(
                "{} of {} requests ended",
                self.ended,
                self.trace.requests.len()
            );
            return Err(Error::Internal(what));
        }
        Ok(Outcome {
            ledger: self.ledger,
            arrived: self.arrived,
            end: now,
            cut,
        })
    }

    fn next_time(&self) -> Option<Nanos> {
        let pass = self.passes.peek().map(|&Reverse((end, _))| end);
        let arrival = self.load.next_time(self.trace);
        match (pass, arrival) {
            (Some(pass), Some(arrival)) => Some(pass.min(arrival)),
            (pass, arrival) => pass.or(arrival),
        }
    }

    fn end_passes(&mut self, now: Nanos) {
        while let Some(&Reverse((end, worker))) = self.passes.peek() {
            if end > now {
                return;
            }
            self.passes.pop();
            self.ready.push(worker);
            let mut pass_end = std::mem::take(&mut self.pass_end);
            self.engines[worker as usize].finish_pass(&mut self.ledger, &mut pass_end);
            for request in pass_end.completed.drain(..) {
                self.ended += 1;
                self.load.ended(self.trace, request, now);
            }
            pass_end.prefilled.clear();
            self.pass_end = pass_end;
        }
    }

    fn take_arrivals(&mut self, now: Nanos) {
        while let Some(request) = self.load.pop(self.trace, now) {
            self.arrived += 1;
            let record = &mut self.ledger.records[request as usize];
            record.arrival = now;
            let worker = self.placement.place();
            self.dispatch(request, worker, now);
        }
    }

    fn dispatch(&mut self, request: u32, worker: u32, now: Nanos) {
        let record = &mut self.ledger.records[request as usize];
        record.worker = worker;
        record.placed = now;
        let asked = &self.trace.requests[request as usize];
        let (trace_block, block) = (self.config.trace.block_size, self.config.engine.block_size);
        let prefixes = &self.trace.prefixes;
        prefixes.spans(asked.leaf, asked.input, trace_block, block, &mut self.spans);
        let (input, output) = (asked.input, asked.output);
        let job = Job {
            request,
            input,
            output,
            spans: &self.spans,
        };
        let engine = &mut self.engines[worker as usize];
        match engine.submit(job) {
            Ok(()) if engine.is_busy() => {}
            Ok(()) => self.ready.push(worker),
            Err(_) => {
                record.status = Status::Rejected;
                record.terminal = now;
                self.ended += 1;
                self.load.ended(self.trace, request, now);
            }
        }
    }

    fn start_passes(&mut self, now: Nanos) {
        if self.ready.len() > 1 {
            self.ready.sort_unstable();
            self.ready.dedup();
        }
        for worker in self.ready.drain(..) {
            let engine = &mut self.engines[worker as usize];
            if let Some(end) = engine.start_pass(now, &mut self.ledger) {
                self.passes.push(Reverse((end, worker)));
            }
        }
    }
}
