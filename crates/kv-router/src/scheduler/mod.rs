//! Admission and booking: select, book, deliver, prefill complete, free.

mod admission;
mod booking;
mod fleet;
#[cfg(test)]
mod invariants;
mod report;
mod request;
mod select;
mod topology;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::clock::Clock;
use crate::config::{RouterConfig, WorkerConfig};
use crate::error::{ErrorKind, RouterError};
use crate::index::{KvEvent, RadixTree};
use crate::load::Weight;
use crate::queue::{LaneKey, Queue};
use crate::rng::Rng;
use crate::types::{Candidate, Decision, PlaceRequest, Placed, RequestId};
pub(crate) use admission::Admission;
use booking::Booking;
pub(crate) use fleet::BusyRule;
use fleet::Fleet;
pub(crate) use fleet::MemberState;
pub use report::{CandidateLoad, PotentialLoad};
pub(crate) use request::{Constraint, Waiter};
use select::Scratch;

/// Selection, admission, booking and queueing over one fleet and one prefix index, under the
/// host's clock.
///
/// Every method takes `now_ms`, which never goes back. A method that can let waiting requests go
/// returns their placements, in order. An error leaves the state unchanged.
#[derive(Clone, Debug)]
pub struct LocalScheduler {
    config: RouterConfig,
    pub(crate) clock: Clock,
    fleet: Fleet,
    index: RadixTree,
    queue: Queue,
    bookings: FxHashMap<RequestId, Booking>,
    /// Lanes that the next drain looks at.
    dirty: BTreeSet<LaneKey>,
    drained_at_ms: f64,
    last_attempt: u64,
    last_arrival: u64,
    touched: u64,
    rng: Rng,
    scratch: Scratch,
}

impl LocalScheduler {
    /// A scheduler at clock 0 for these workers; none is fine, requests then wait for one.
    ///
    /// # Errors
    /// `InvalidValue`, `Unsupported`: the first parameter that is wrong; `DuplicateWorker`.
    pub fn new(config: RouterConfig, workers: &[WorkerConfig]) -> Result<Self, RouterError> {
        config.validate()?;
        let config = config.resolved();
        let mut fleet = Fleet::default();
        for worker in workers {
            worker.suits(&config)?;
            fleet.add(worker)?;
        }
        let ttl_ms = config
            .affinity
            .as_ref()
            .map_or(0.0, |affinity| affinity.ttl_secs * 1000.0);
        Ok(Self {
            clock: Clock::with_reserve(ttl_ms),
            queue: Queue::new(&config),
            rng: Rng::new(config.seed),
            config,
            fleet,
            index: RadixTree::new(),
            bookings: FxHashMap::default(),
            dirty: BTreeSet::new(),
            drained_at_ms: 0.0,
            last_attempt: 0,
            last_arrival: 0,
            touched: 0,
            scratch: Scratch::default(),
        })
    }

    /// Places a request, or keeps it waiting.
    ///
    /// # Errors
    /// `InvalidValue`, `DuplicateRequest`; `NoEndpoints`, `AllOverloaded`, `PinnedOverloaded`,
    /// `PinnedNotAllowed` when no candidate will do; `QueueLimit`.
    pub fn schedule(
        &mut self,
        now_ms: f64,
        request: &PlaceRequest<'_>,
    ) -> Result<Placed, RouterError> {
        self.clock.check(now_ms)?;
        let waiter = self.prepare(now_ms, request)?;
        let admission = self.admission(now_ms, &waiter)?;
        self.clock.set(now_ms);
        Ok(self.placed(now_ms, waiter, admission))
    }

    /// Applies a cache event of a candidate.
    ///
    /// # Errors
    /// `UnknownWorker`; `ParentNotFound`, `SelfParent` as [`RadixTree::apply`].
    pub fn observe(
        &mut self,
        now_ms: f64,
        source: Candidate,
        event: KvEvent<'_>,
    ) -> Result<(), RouterError> {
        self.clock.check(now_ms)?;
        if !self.config.use_kv_events {
            let expected = "true: this router remembers its routes instead of following events";
            let field = "use_kv_events";
            return Err(RouterError::new(
                ErrorKind::Unsupported,
                field,
                false,
                expected,
            ));
        }
        self.fleet.known_candidate(source)?;
        self.index.apply(source, event)?;
        self.clock.set(now_ms);
        Ok(())
    }

    /// The worker took the request: from now on only `free` ends it.
    ///
    /// # Errors
    /// `UnknownRequest`, `StaleAttempt`; `WrongState` when it was delivered already.
    pub fn deliver(
        &mut self,
        now_ms: f64,
        id: RequestId,
        attempt: Option<u64>,
    ) -> Result<(), RouterError> {
        self.clock.check(now_ms)?;
        self.undelivered(id, attempt)?;
        self.clock.set(now_ms);
        self.mark_delivered(id);
        Ok(())
    }

    /// The delivery failed: the booking is rolled back.
    ///
    /// # Errors
    /// `UnknownRequest`, `StaleAttempt`; `WrongState` when it was delivered already.
    pub fn rollback(
        &mut self,
        now_ms: f64,
        id: RequestId,
        attempt: Option<u64>,
    ) -> Result<Vec<Decision>, RouterError> {
        self.clock.check(now_ms)?;
        self.undelivered(id, attempt)?;
        self.clock.set(now_ms);
        self.unbook(now_ms, id);
        Ok(self.drain(now_ms))
    }

    /// Refuses a request that is not placed, or that its worker took already.
    pub(crate) fn undelivered(
        &self,
        id: RequestId,
        attempt: Option<u64>,
    ) -> Result<Candidate, RouterError> {
        let booking = self.attempt(id, attempt)?;
        if booking.delivered {
            return Err(RouterError::new(
                ErrorKind::WrongState,
                "request_id",
                id,
                "a request that is placed and not yet dispatched",
            ));
        }
        Ok(booking.candidate)
    }

    /// The prompt is computed: its prefill load is gone. The second time, and for a request that
    /// is not placed, it does nothing.
    ///
    /// # Errors
    /// `StaleAttempt`.
    pub fn prefill_complete(
        &mut self,
        now_ms: f64,
        id: RequestId,
        attempt: Option<u64>,
    ) -> Result<Vec<Decision>, RouterError> {
        self.check_end(now_ms, id, attempt)?;
        self.end_prefill(now_ms, id);
        Ok(self.drain(now_ms))
    }

    /// The request ended: everything it held is free. The second time, and for a request that is
    /// not placed, it does nothing.
    ///
    /// # Errors
    /// `StaleAttempt`: a late end of an earlier attempt does not end the live one.
    pub fn free(
        &mut self,
        now_ms: f64,
        id: RequestId,
        attempt: Option<u64>,
    ) -> Result<Vec<Decision>, RouterError> {
        self.check_end(now_ms, id, attempt)?;
        self.unbook(now_ms, id);
        Ok(self.drain(now_ms))
    }

    fn check_end(
        &mut self,
        now_ms: f64,
        id: RequestId,
        attempt: Option<u64>,
    ) -> Result<(), RouterError> {
        self.clock.check(now_ms)?;
        if self.bookings.contains_key(&id) {
            self.attempt(id, attempt)?;
        }
        self.clock.set(now_ms);
        Ok(())
    }

    /// The request produced a block of output. `decay_fraction` in 0..=1, when given, is from now
    /// on the weight of its output blocks and of the prompt blocks that only it holds.
    ///
    /// # Errors
    /// `Unsupported` unless output blocks are tracked; `InvalidValue`, `UnknownRequest`.
    pub fn add_output_block(
        &mut self,
        now_ms: f64,
        id: RequestId,
        decay_fraction: Option<f64>,
    ) -> Result<(), RouterError> {
        self.clock.check(now_ms)?;
        if !self.config.router_track_output_blocks || !self.config.router_track_active_blocks {
            return Err(RouterError::new(
                ErrorKind::Unsupported,
                "router_track_output_blocks",
                false,
                "true, together with router_track_active_blocks",
            ));
        }
        if let Some(fraction) = decay_fraction
            && !(0.0..=1.0).contains(&fraction)
        {
            let expected = "a fraction from 0 to 1";
            let field = "decay_fraction";
            return Err(RouterError::new(
                ErrorKind::InvalidValue,
                field,
                fraction,
                expected,
            ));
        }
        self.attempt(id, None)?;
        self.clock.set(now_ms);
        self.grow(id, decay_fraction.map(Weight::of));
        Ok(())
    }

    /// Withdraws a request that waits, or that is placed and not yet delivered.
    ///
    /// # Errors
    /// `UnknownRequest`; `WrongState` when it was delivered already.
    pub fn cancel(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>, RouterError> {
        self.clock.check(now_ms)?;
        if self.queue.get(id).is_none() {
            self.undelivered(id, None)?;
        }
        self.clock.set(now_ms);
        if self.withdraw(id).is_none() {
            self.unbook(now_ms, id);
        }
        Ok(self.drain(now_ms))
    }

    /// Time passed: lets go what time alone frees (see `router_prefill_load_model`).
    ///
    /// # Errors
    /// `ClockInvalid`, `ClockBackwards`.
    pub fn advance_clock(&mut self, now_ms: f64) -> Result<Vec<Decision>, RouterError> {
        self.clock.check(now_ms)?;
        self.clock.set(now_ms);
        Ok(self.drain(now_ms))
    }

    /// Topology changes are done: lets everything go that can.
    ///
    /// # Errors
    /// `ClockInvalid`, `ClockBackwards`.
    pub fn settle(&mut self, now_ms: f64) -> Result<Vec<Decision>, RouterError> {
        self.clock.check(now_ms)?;
        self.clock.set(now_ms);
        self.mark_all();
        Ok(self.drain(now_ms))
    }
}
