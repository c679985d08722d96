//! What can be asked of a scheduler.

use serde::Serialize;

use super::LocalScheduler;
use super::fleet::Eligibility;
use super::request::Request;
use super::select::{cached_tokens, potential_blocks};
use crate::config::{PrefillLoadModel, RouterConfig};
use crate::error::RouterError;
use crate::index::RadixTree;
use crate::types::{Candidate, PlaceRequest, RequestId, WorkerId};

/// Load of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CandidateLoad {
    /// Whose load.
    pub candidate: Candidate,
    /// Active requests.
    pub active_requests: u32,
    /// Active blocks: shared prompt blocks once, decayed ones by weight, rounded.
    pub active_blocks: u64,
    /// Prompt tokens still to prefill.
    pub active_prefill_tokens: u64,
    /// Whether it takes new requests.
    pub takes_requests: bool,
}

/// Load of one candidate as it would be with one more request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PotentialLoad {
    /// Whose load.
    pub candidate: Candidate,
    /// Consecutive prefix blocks that the candidate holds.
    pub overlap_blocks: u32,
    /// Active blocks with the request.
    pub potential_blocks: u64,
    /// Prompt tokens to prefill with the request.
    pub potential_prefill_tokens: u64,
}

impl LocalScheduler {
    /// The configuration.
    pub fn config(&self) -> &RouterConfig {
        &self.config
    }

    /// The prefix index.
    pub fn index(&self) -> &RadixTree {
        &self.index
    }

    /// Time of the latest call, ms.
    pub fn now_ms(&self) -> f64 {
        self.clock.now_ms()
    }

    /// Number of requests that wait.
    pub fn pending_count(&self) -> usize {
        self.queue.len()
    }

    /// Number of requests that are placed and did not end.
    pub fn active_count(&self) -> usize {
        self.bookings.len()
    }

    /// How many waiters drains looked at so far: a measure of their work.
    pub fn drain_touches(&self) -> u64 {
        self.touched
    }

    /// Whether the request waits.
    pub(crate) fn is_waiting(&self, id: RequestId) -> bool {
        self.queue.get(id).is_some()
    }

    /// Refuses a worker that is not present.
    pub(crate) fn known_worker(&self, worker_id: WorkerId) -> Result<(), RouterError> {
        self.fleet.known(worker_id)
    }

    /// Refuses a candidate that is not present.
    pub(crate) fn known_candidate(&self, id: Candidate) -> Result<(), RouterError> {
        self.fleet.known_candidate(id)
    }

    /// Every candidate of a worker.
    pub(crate) fn candidates_of(&self, worker_id: WorkerId) -> Vec<Candidate> {
        let ids = self.fleet.members().iter().map(|member| member.id);
        ids.filter(|id| id.worker_id == worker_id).collect()
    }

    /// Load of every candidate at the time of the latest call, by candidate.
    pub fn loads(&self) -> Vec<CandidateLoad> {
        let members = self.fleet.members().iter();
        let load = |member: &super::fleet::Member| CandidateLoad {
            candidate: member.id,
            active_requests: member.active_requests,
            active_blocks: member.active_blocks(),
            active_prefill_tokens: member.prefill.tokens(self.now_ms()),
            takes_requests: member.eligibility(&Default::default()) == Eligibility::Eligible,
        };
        members.map(load).collect()
    }

    /// Load of every candidate with this request on it, without booking; by candidate.
    ///
    /// # Errors
    /// `InvalidValue`.
    pub fn potential_loads(
        &self,
        from: &PlaceRequest<'_>,
    ) -> Result<Vec<PotentialLoad>, RouterError> {
        let request = Request::new(&self.config, from)?;
        let mut scratch = super::Scratch::default();
        scratch.look_up(&self.index, &self.fleet, self.now_ms(), &request.chain);
        let members = self.fleet.members().iter().zip(&scratch.overlaps);
        Ok(members
            .map(|(member, &overlap_blocks)| {
                let cached = cached_tokens(&self.config, &request, member.id, overlap_blocks);
                let active = member.prefill.tokens(self.now_ms());
                let uncached = u64::from(request.isl_tokens - cached);
                let tracked = request.tracks_prefill(&self.config);
                PotentialLoad {
                    candidate: member.id,
                    overlap_blocks,
                    potential_blocks: potential_blocks(&self.config, member, &request),
                    potential_prefill_tokens: if tracked { active + uncached } else { 0 },
                }
            })
            .collect())
    }

    /// The earliest time at which `advance_clock` can let a waiter go, ms; the present after
    /// a call that moved the clock and places nothing. `None` when only an event can: without a
    /// prefill load model nothing is freed by time.
    pub fn next_wakeup_ms(&self) -> Option<f64> {
        if self.queue.in_lanes() == 0 || !self.fades() {
            return None;
        }
        let now_ms = self.now_ms();
        if now_ms > self.drained_at_ms {
            return Some(now_ms);
        }
        let mut next: Option<f64> = None;
        for class in self.queue.classes() {
            let rule = self.queue.busy_rule(class);
            for member in self.fleet.members().iter().filter(|_| rule.is_on()) {
                let limit = rule.limit(member);
                if member.prefill.tokens(now_ms) > limit
                    && let Some(at) = member.prefill.falls_to(now_ms, limit)
                {
                    next = Some(next.map_or(at, |next| next.min(at)));
                }
            }
        }
        next
    }

    pub(super) fn fades(&self) -> bool {
        self.config.router_prefill_load_model == PrefillLoadModel::Ais
    }

    /// A canonical description of the whole state: equal states give equal text.
    pub(crate) fn describe(&self) -> String {
        let mut bookings: Vec<_> = self.bookings.iter().collect();
        bookings.sort_unstable_by_key(|(id, _)| **id);
        let loads = self.loads();
        let members = self
            .fleet
            .members()
            .iter()
            .map(|m| (m.id, m.state, m.overloaded, m.routed.describe()));
        format!(
            "{:?} {:?} {loads:?} {bookings:?} {} {:?} {:?} {} {} {}",
            self.clock,
            members.collect::<Vec<_>>(),
            self.queue.describe(),
            self.index.dump(),
            self.index.counters(),
            self.last_attempt,
            self.last_arrival,
            self.rng.state(),
        )
    }
}
