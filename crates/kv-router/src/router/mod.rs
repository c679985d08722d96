//! The router that a host drives: placement with sessions, under the host's clock.

mod evidence;
#[cfg(test)]
mod invariants;
mod sessions;

use rustc_hash::FxHashMap;

use crate::config::{RouterConfig, WorkerConfig};
use crate::error::RouterError;
use crate::index::{KvEvent, RadixTree};
use crate::scheduler::{LocalScheduler, MemberState};
use crate::types::{Candidate, Decision, PlaceRequest, Placed, RequestId, WorkerId};
use evidence::Names;
pub use evidence::{Evidence, EvidenceRow};
use sessions::{Grip, Sessions};

/// The routing policy under the host's clock.
///
/// Every method takes `now_ms`, which never goes back. A method that can let waiting requests go
/// returns their placements, in order; the host dispatches each at once and reports
/// `dispatch_committed` or `dispatch_aborted` for it. An error leaves the state unchanged, except
/// for `BindingViolated`.
#[derive(Clone, Debug)]
pub struct OfflineRouter {
    scheduler: LocalScheduler,
    sessions: Option<Sessions>,
    /// What each live request has of its affinity key.
    grips: FxHashMap<RequestId, Grip>,
    evidence: Evidence,
}

impl OfflineRouter {
    /// A router at clock 0 for these workers; none is fine, requests then wait for one.
    ///
    /// # Errors
    /// `InvalidValue`, `Unsupported`: the first parameter that is wrong; `DuplicateWorker`.
    pub fn new(config: RouterConfig, workers: &[WorkerConfig]) -> Result<Self, RouterError> {
        let evidence = Evidence::new(config.worker_type, config.evidence_limit);
        let sessions = config.affinity.clone();
        let scheduler = LocalScheduler::new(config, workers)?;
        let sessions = sessions.as_ref().map(Sessions::new).transpose()?;
        Ok(Self {
            scheduler,
            sessions,
            grips: FxHashMap::default(),
            evidence,
        })
    }

    /// Places a request, or keeps it waiting. While no worker takes requests, all of them wait.
    ///
    /// # Errors
    /// `InvalidValue`, `DuplicateRequest`; `NoEndpoints`, `AllOverloaded`, `PinnedOverloaded`,
    /// `PinnedNotAllowed` when no candidate will do; `QueueLimit`; `AffinityFull`; clock.
    pub fn place(
        &mut self,
        now_ms: f64,
        request: &PlaceRequest<'_>,
    ) -> Result<Placed, RouterError> {
        let placed = match &self.sessions {
            None => self.scheduler.schedule(now_ms, request)?,
            Some(sessions) => {
                self.scheduler.clock.check(now_ms)?;
                let key = sessions.key(request.session.as_ref())?;
                let waiter = self.scheduler.prepare(now_ms, request)?;
                self.place_in_session(now_ms, &key, waiter)?
            }
        };
        self.note(placed.decision.as_slice());
        self.note(&placed.released);
        Ok(placed)
    }

    /// Applies a cache event of one candidate.
    ///
    /// # Errors
    /// `UnknownWorker`, `ParentNotFound`, `SelfParent`; clock.
    pub fn observe(
        &mut self,
        now_ms: f64,
        source: Candidate,
        event: KvEvent<'_>,
    ) -> Result<(), RouterError> {
        self.scheduler.observe(now_ms, source, event)?;
        self.evidence.physical_kv_events += 1;
        Ok(())
    }

    /// The prompt of the request is computed: its prefill load is gone. The second time, and for
    /// a request that is not placed, it does nothing.
    ///
    /// # Errors
    /// Clock.
    pub fn prefill_completed(
        &mut self,
        now_ms: f64,
        id: RequestId,
    ) -> Result<Vec<Decision>, RouterError> {
        let released = self.scheduler.prefill_complete(now_ms, id, None)?;
        Ok(self.noted(released))
    }

    /// The request produced a block of output; see [`LocalScheduler::add_output_block`].
    ///
    /// # Errors
    /// `Unsupported`, `InvalidValue`, `UnknownRequest`; clock.
    pub fn add_output_block(
        &mut self,
        now_ms: f64,
        id: RequestId,
        decay_fraction: Option<f64>,
    ) -> Result<(), RouterError> {
        self.scheduler.add_output_block(now_ms, id, decay_fraction)
    }

    /// The worker and rank `at` took the request. Its session is bound from now on. In soft mode
    /// `at` may differ from the placement, and binding and booking move there.
    ///
    /// # Errors
    /// `UnknownRequest`, `WrongState`, `UnknownWorker`; `DispatchMismatch`; `BindingViolated`
    /// when `at` is not where the session is bound, which ends the binding; clock.
    pub fn dispatch_committed(
        &mut self,
        now_ms: f64,
        id: RequestId,
        at: Candidate,
    ) -> Result<Vec<Decision>, RouterError> {
        self.scheduler.clock.check(now_ms)?;
        let placed = self.scheduler.undelivered(id, None)?;
        self.check_dispatch(now_ms, id, placed, at)?;
        self.scheduler.clock.set(now_ms);
        self.scheduler.mark_delivered(id);
        if at == placed {
            self.evidence.post_dispatch_checks += 1;
        } else {
            self.scheduler.move_booking(now_ms, id, at);
        }
        self.commit_grip(now_ms, id, at);
        Ok(self.drained(now_ms))
    }

    /// The dispatch failed: the booking is gone, and so is an initialization of its session,
    /// which passes to the next waiter.
    ///
    /// # Errors
    /// `UnknownRequest`, `WrongState`; clock.
    pub fn dispatch_aborted(
        &mut self,
        now_ms: f64,
        id: RequestId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.scheduler.clock.check(now_ms)?;
        self.scheduler.undelivered(id, None)?;
        self.scheduler.clock.set(now_ms);
        self.evidence.dispatch_aborts += 1;
        self.end(now_ms, id);
        Ok(self.drained(now_ms))
    }

    /// The request ended, however it ended. An unknown id is harmless.
    ///
    /// # Errors
    /// Clock.
    pub fn request_terminal(
        &mut self,
        now_ms: f64,
        id: RequestId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.scheduler.clock.check(now_ms)?;
        self.scheduler.clock.set(now_ms);
        self.end(now_ms, id);
        Ok(self.drained(now_ms))
    }

    /// Withdraws a request that waits, or that is placed and not yet dispatched.
    ///
    /// # Errors
    /// `UnknownRequest`; `WrongState` when it was dispatched already; clock.
    pub fn cancel(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>, RouterError> {
        self.scheduler.clock.check(now_ms)?;
        if !self.scheduler.is_waiting(id) {
            self.scheduler.undelivered(id, None)?;
        }
        self.scheduler.clock.set(now_ms);
        self.end(now_ms, id);
        Ok(self.drained(now_ms))
    }

    /// Adds a worker; it takes requests from now on.
    ///
    /// # Errors
    /// `InvalidValue`, `DuplicateWorker`; clock.
    pub fn worker_ready(
        &mut self,
        now_ms: f64,
        worker: &WorkerConfig,
    ) -> Result<Vec<Decision>, RouterError> {
        let released = self.scheduler.add_worker(now_ms, worker)?;
        Ok(self.noted(released))
    }

    /// The worker takes no new requests and finishes the ones it has. Its sessions move on.
    ///
    /// # Errors
    /// `UnknownWorker`; clock.
    pub fn worker_draining(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.close(now_ms, worker_id, MemberState::Draining)
    }

    /// The worker is dead but not yet removed: it is never chosen, through a session neither.
    ///
    /// # Errors
    /// `UnknownWorker`; clock.
    pub fn worker_fenced(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.close(now_ms, worker_id, MemberState::Fenced)
    }

    fn close(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
        state: MemberState,
    ) -> Result<Vec<Decision>, RouterError> {
        self.scheduler.set_state(now_ms, worker_id, state)?;
        let waiters = self.bound_to(worker_id);
        self.unbind_worker(now_ms, worker_id, &waiters);
        Ok(self.drained(now_ms))
    }

    /// An overloaded worker gets no new requests until the overload ends.
    ///
    /// # Errors
    /// `UnknownWorker`; clock.
    pub fn worker_overloaded(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
        overloaded: bool,
    ) -> Result<Vec<Decision>, RouterError> {
        let released = self
            .scheduler
            .set_overloaded(now_ms, worker_id, overloaded)?;
        Ok(self.noted(released))
    }

    /// The worker is gone with its bookings, its part of the index and its session bindings;
    /// drained before or not. Its id can come back.
    ///
    /// # Errors
    /// `UnknownWorker`; clock.
    pub fn worker_removed(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.scheduler.clock.check(now_ms)?;
        self.scheduler.known_worker(worker_id)?;
        self.scheduler.clock.set(now_ms);
        let waiters = self.bound_to(worker_id);
        let lost = self.scheduler.forget_worker(worker_id);
        self.unbind_worker(now_ms, worker_id, &waiters);
        lost.iter().for_each(|id| self.let_go(now_ms, *id));
        Ok(self.drained(now_ms))
    }

    /// Topology changes are done: lets everything go that can.
    ///
    /// # Errors
    /// Clock.
    pub fn topology_settled(&mut self, now_ms: f64) -> Result<Vec<Decision>, RouterError> {
        let released = self.scheduler.settle(now_ms)?;
        Ok(self.noted(released))
    }

    /// Time passed: forgets idle sessions and lets go what time alone frees.
    ///
    /// # Errors
    /// `ClockInvalid`, `ClockBackwards`.
    pub fn advance_clock(&mut self, now_ms: f64) -> Result<Vec<Decision>, RouterError> {
        let released = self.scheduler.advance_clock(now_ms)?;
        if let Some(sessions) = &mut self.sessions {
            sessions.table.advance(now_ms)?;
        }
        Ok(self.noted(released))
    }

    /// The earliest time at which `advance_clock` can let a waiter go, ms. `None` when only
    /// another event can: whatever an event frees is let go in the same call.
    pub fn next_wakeup_ms(&self) -> Option<f64> {
        self.scheduler.next_wakeup_ms()
    }

    /// Number of requests that wait.
    pub fn pending_count(&self) -> usize {
        self.scheduler.pending_count()
    }

    /// What the router did so far.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The scheduler below, to look at.
    pub fn scheduler(&self) -> &LocalScheduler {
        &self.scheduler
    }

    /// The prefix index.
    pub fn index(&self) -> &RadixTree {
        self.scheduler.index()
    }

    /// Number of session keys in use.
    pub fn session_count(&self) -> usize {
        self.sessions
            .as_ref()
            .map_or(0, |sessions| sessions.table.len())
    }

    /// Digest of the whole state: equal states have equal digests. Takes time in proportion to
    /// the state; meant for tests.
    pub fn state_digest(&self) -> u64 {
        let mut grips: Vec<_> = self.grips.iter().collect();
        grips.sort_unstable_by_key(|(id, _)| **id);
        let sessions = self
            .sessions
            .as_ref()
            .map(|sessions| sessions.table.describe());
        let scheduler = self.scheduler.describe();
        let text = format!("{scheduler} {sessions:?} {grips:?} {:?}", self.evidence);
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    }

    fn end(&mut self, now_ms: f64, id: RequestId) {
        if self.scheduler.withdraw(id).is_none() {
            self.scheduler.unbook(now_ms, id);
        }
        self.let_go(now_ms, id);
    }

    fn drained(&mut self, now_ms: f64) -> Vec<Decision> {
        let released = self.scheduler.drain(now_ms);
        self.noted(released)
    }

    fn noted(&mut self, released: Vec<Decision>) -> Vec<Decision> {
        self.note(&released);
        released
    }

    fn note(&mut self, decisions: &[Decision]) {
        for decision in decisions {
            let id = decision.request_id;
            let label = self
                .scheduler
                .booking(id)
                .and_then(|b| b.request.label.as_deref());
            let grip = self.grips.get(&id);
            self.evidence.record(decision, || Names {
                authored_request_id: label
                    .and_then(|l| l.authored_request_id.as_deref())
                    .map(str::to_owned),
                session_id: label
                    .and_then(|l| l.session_id.as_deref())
                    .map(str::to_owned),
                group_key: grip.map(|grip| grip.key().to_owned()),
            });
        }
    }
}
