//! The event loop.
//!
//! Time moves from event to event. At equal times the order is: passes that end, in order of
//! workers; arrivals, in order of the file; passes that start, in order of workers; all of it again
//! until nothing more happens at that time.

mod hashes;
mod load;
mod placement;
mod pool;

use std::ops::ControlFlow;

use crate::config::ReplayConfig;
use crate::engine::{Extrapolation, Job, PassEnd, Span, Timing};
use crate::error::{ConfigError, Error, Result};
use crate::ledger::{Ledger, Status};
use crate::router::{self, RouterFactory};
use crate::time::{self, Nanos};
use crate::trace::Trace;
use load::Load;
use placement::{Placed, Placement};
use pool::Pool;

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
/// [`Error::Interrupted`] when `watch` broke, [`Error::Config`] when a pass lies outside of measured
/// pass times and may not be extrapolated.
pub fn replay(
    trace: &Trace,
    config: &ReplayConfig,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome> {
    replay_behind(trace, config, &mut router::native, watch)
}

/// Replays as [`replay`] does, behind routers that the host makes.
///
/// # Errors
/// As [`replay`]; what a router of the host reports.
pub fn replay_behind(
    trace: &Trace,
    config: &ReplayConfig,
    routers: &mut RouterFactory<'_>,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome> {
    config.check()?;
    config.check_load()?;
    Simulation::new(trace, config, routers)?.run(watch)
}

struct Simulation<'a> {
    trace: &'a Trace,
    config: &'a ReplayConfig,
    load: Load,
    placement: Placement,
    pool: Pool,
    ledger: Ledger,
    arrived: u64,
    ended: u64,
    spans: Vec<Span>,
    pass_end: PassEnd,
    /// Placements that are not dispatched yet, in order.
    placed: Vec<Placed>,
}

impl<'a> Simulation<'a> {
    fn new(
        trace: &'a Trace,
        config: &'a ReplayConfig,
        routers: &mut RouterFactory<'_>,
    ) -> Result<Self> {
        let placement = Placement::new(trace, config, routers)?;
        let events = placement.wants_events();
        Ok(Self {
            trace,
            config,
            load: Load::new(trace, &config.load),
            placement,
            pool: Pool::new(config, config.cluster.workers, events),
            ledger: Ledger::new(trace.requests.len()),
            arrived: 0,
            ended: 0,
            spans: Vec::new(),
            pass_end: PassEnd::default(),
            placed: Vec::new(),
        })
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
        while let Some(next) = self.next_time()? {
            if next > limit {
                if limit == LAST_TIME {
                    let what = "the simulated clock ran past 146 years; check the timing settings";
                    return Err(Error::Internal(what.to_string()));
                }
                (now, cut) = (limit, true);
                break;
            }
            now = next;
            self.end_passes(now)?;
            self.placement.advance(now, &mut self.placed)?;
            self.dispatch_placed(now)?;
            self.take_arrivals(now)?;
            self.pool.start_passes(now, &mut self.ledger);
            self.check_extrapolation()?;
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

    /// Ends the replay at the first pass that no measurement covers, if that is asked for.
    fn check_extrapolation(&self) -> Result<()> {
        let (Timing::Table(table), Some(work)) =
            (&self.config.engine.timing, self.ledger.extrapolated.first)
        else {
            return Ok(());
        };
        if table.extrapolation == Extrapolation::Flag {
            return Ok(());
        }
        let what = format!(
            "no measurement covers a pass of {} prompt tokens and {} decoding requests with {} \
             tokens of context",
            work.prefill_tokens, work.decodes, work.context_tokens
        );
        let fix = "measure such passes, or set engine.timing.extrapolation to flag";
        Err(ConfigError::new("engine.timing", what, fix).into())
    }

    fn next_time(&self) -> Result<Option<Nanos>> {
        let arrival = self.load.next_time(self.trace);
        let wakeup = self.placement.next_wakeup()?;
        Ok([self.pool.next_end(), arrival, wakeup]
            .into_iter()
            .flatten()
            .min())
    }

    fn end_passes(&mut self, now: Nanos) -> Result<()> {
        while let Some((end, worker)) = self.pool.pop_ended(now) {
            for at in self.pool.ranks(worker) {
                let (ledger, pass) = (&mut self.ledger, &mut self.pass_end);
                let engine = self.pool.finish(end, at, ledger, pass);
                let (events, placed) = (engine.events(), &mut self.placed);
                self.placement
                    .pass_ended(self.trace, now, at, events, pass, placed)?;
                engine.clear_events();
                for request in self.pass_end.completed.drain(..) {
                    self.ended += 1;
                    self.load.ended(self.trace, request, now);
                }
                self.pass_end.prefilled.clear();
            }
        }
        Ok(())
    }

    fn take_arrivals(&mut self, now: Nanos) -> Result<()> {
        while let Some(request) = self.load.pop(self.trace, now) {
            self.arrived += 1;
            self.ledger.records[request as usize].arrival = now;
            self.find_spans(request);
            let (trace, spans) = (self.trace, &self.spans);
            self.placement
                .place(trace, now, request, spans, &mut self.placed)?;
            self.dispatch_placed(now)?;
        }
        Ok(())
    }

    /// Hands placed requests to their workers; a refusal may let others go, which follow.
    fn dispatch_placed(&mut self, now: Nanos) -> Result<()> {
        let mut next = 0;
        while let Some(&placed) = self.placed.get(next) {
            next += 1;
            let accepted = self.dispatch(placed, now);
            self.placement
                .dispatched(now, placed, accepted, &mut self.placed)?;
        }
        self.placed.clear();
        Ok(())
    }

    fn dispatch(&mut self, placed: Placed, now: Nanos) -> bool {
        let Placed {
            request,
            at,
            overlap,
            best_overlap,
        } = placed;
        self.find_spans(request);
        let record = &mut self.ledger.records[request as usize];
        record.worker = at.worker_id;
        record.dp_rank = at.dp_rank;
        record.placed = now;
        record.overlap_blocks = overlap;
        record.best_overlap_blocks = best_overlap;
        let asked = &self.trace.requests[request as usize];
        let job = Job {
            request,
            input: asked.input,
            output: asked.output,
            spans: &self.spans,
            tail: asked.tail,
        };
        let Err(refusal) = self.pool.submit(at, job) else {
            return true;
        };
        record.status = Status::Rejected(refusal);
        record.terminal = now;
        self.ended += 1;
        self.load.ended(self.trace, request, now);
        false
    }

    fn find_spans(&mut self, request: u32) {
        let asked = &self.trace.requests[request as usize];
        let (prefixes, block_size) = (&self.trace.prefixes, self.config.engine.block_size);
        prefixes.spans(asked.leaf, asked.input, block_size, &mut self.spans);
    }
}
