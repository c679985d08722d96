//! Bookings: the load that a placed request puts on its candidate.

use super::LocalScheduler;
use super::request::Request;
use super::select::Choice;
use crate::error::{ErrorKind, RouterError};
use crate::load::Weight;
use crate::types::{Candidate, Decision, RequestId};

/// A placed request.
#[derive(Clone, Debug)]
pub(crate) struct Booking {
    pub(crate) attempt: u64,
    pub(crate) candidate: Candidate,
    /// Whether the worker took the request.
    pub(crate) delivered: bool,
    pub(crate) request: Request,
    /// Holder number of its prompt blocks; `None` when they are not shared or not tracked.
    holder: Option<u32>,
    /// Blocks that it shares with nobody: output blocks, and the prompt without reuse.
    private_blocks: u64,
    weight: Weight,
}

impl LocalScheduler {
    /// Books a request on its choice.
    pub(super) fn book(
        &mut self,
        now_ms: f64,
        request: Request,
        choice: Choice,
        queued: bool,
    ) -> Decision {
        self.last_attempt += 1;
        let attempt = self.last_attempt;
        let decision = Decision {
            request_id: request.id,
            attempt,
            candidate: self.fleet.members()[choice.position].id,
            at_ms: now_ms,
            overlap_blocks: choice.overlap_blocks,
            best_available_overlap_blocks: choice.best_overlap_blocks,
            cached_tokens: choice.cached_tokens,
            isl_blocks: request.isl_blocks(&self.config),
            queued,
            binding_reused: request.bound,
        };
        self.load(now_ms, request, choice, attempt, false);
        decision
    }

    fn load(
        &mut self,
        now_ms: f64,
        request: Request,
        choice: Choice,
        attempt: u64,
        delivered: bool,
    ) {
        let config = &self.config;
        let member = &mut self.fleet.members_mut()[choice.position];
        let (mut holder, mut private_blocks) = (None, 0);
        if config.router_track_active_blocks && !request.chain.is_empty() {
            if request.assumes_reuse(config) {
                holder = Some(member.prompt.add(&request.tracked, f64::INFINITY));
            } else {
                private_blocks = request.chain.len() as u64;
                member.private_blocks += Weight::FULL.times(private_blocks);
            }
        }
        if request.tracks_prefill(config) {
            let tokens = u64::from(request.isl_tokens - choice.cached_tokens);
            let modelled = config.modelled_prefill(request.expected_prefill_ms);
            member.prefill.add(now_ms, attempt, tokens, modelled);
        }
        if let Some((until_ms, capacity)) = config.remembers_routes(now_ms, member.total_kv_blocks)
        {
            member
                .routed
                .add(now_ms, until_ms, capacity, &request.chain);
        }
        member.active_requests += 1;
        let (candidate, weight) = (member.id, Weight::FULL);
        self.bookings.insert(
            request.id,
            Booking {
                attempt,
                candidate,
                delivered,
                request,
                holder,
                private_blocks,
                weight,
            },
        );
    }

    /// Takes a booking off its candidate.
    pub(crate) fn unbook(&mut self, now_ms: f64, id: RequestId) -> Option<Booking> {
        let booking = self.bookings.remove(&id)?;
        let member = self
            .fleet
            .get_mut(booking.candidate)
            .expect("bookings go with their worker");
        if let Some(holder) = booking.holder {
            member.prompt.remove(holder);
        }
        member.private_blocks -= booking.weight.times(booking.private_blocks);
        member.prefill.complete(now_ms, booking.attempt);
        member.active_requests -= 1;
        self.mark(booking.candidate);
        Some(booking)
    }

    /// Moves a booking to the candidate that took the request, with that candidate's cache.
    pub(crate) fn move_booking(&mut self, now_ms: f64, id: RequestId, to: Candidate) {
        let Some(position) = self.fleet.position(to) else {
            return;
        };
        let Some(booking) = self.unbook(now_ms, id) else {
            return;
        };
        self.look_up(now_ms, &booking.request);
        let choice = self
            .scratch
            .choice(&self.config, &self.fleet, &booking.request, position);
        self.load(now_ms, booking.request, choice, booking.attempt, true);
    }

    /// Notes that the worker took the request.
    pub(crate) fn mark_delivered(&mut self, id: RequestId) {
        if let Some(booking) = self.bookings.get_mut(&id) {
            booking.delivered = true;
        }
    }

    /// The live booking of a request.
    pub(crate) fn booking(&self, id: RequestId) -> Option<&Booking> {
        self.bookings.get(&id)
    }

    /// The live booking, which must be this attempt when one is named.
    pub(crate) fn attempt(
        &self,
        id: RequestId,
        attempt: Option<u64>,
    ) -> Result<&Booking, RouterError> {
        let Some(booking) = self.bookings.get(&id) else {
            return Err(RouterError::new(
                ErrorKind::UnknownRequest,
                "request_id",
                id,
                "a request that is placed and did not end",
            ));
        };
        match attempt {
            Some(attempt) if attempt != booking.attempt => Err(RouterError::new(
                ErrorKind::StaleAttempt,
                "attempt",
                attempt,
                format!("{}, the live attempt of request {id}", booking.attempt),
            )),
            _ => Ok(booking),
        }
    }

    /// Marks the prefill of a booking as done; harmless the second time.
    pub(super) fn end_prefill(&mut self, now_ms: f64, id: RequestId) {
        let Some(booking) = self.bookings.get(&id) else {
            return;
        };
        let candidate = booking.candidate;
        let member = self
            .fleet
            .get_mut(candidate)
            .expect("bookings go with their worker");
        if member.prefill.complete(now_ms, booking.attempt) {
            self.mark(candidate);
        }
    }

    /// Adds an output block and sets the weight of what only this request holds.
    pub(super) fn grow(&mut self, id: RequestId, weight: Option<Weight>) {
        let booking = self
            .bookings
            .get_mut(&id)
            .expect("the caller checked the booking");
        let member = self
            .fleet
            .get_mut(booking.candidate)
            .expect("bookings go with their worker");
        member.private_blocks -= booking.weight.times(booking.private_blocks);
        booking.weight = weight.unwrap_or(booking.weight);
        booking.private_blocks += 1;
        member.private_blocks += booking.weight.times(booking.private_blocks);
        if let (Some(holder), Some(weight)) = (booking.holder, weight) {
            member.prompt.set_weight(holder, weight);
        }
    }
}
