//! Admission and booking: select, book, deliver, prefill complete, free.

mod fleet;
mod request;
mod select;

use rustc_hash::FxHashMap;

use crate::config::{RouterConfig, WorkerConfig};
use crate::error::{ErrorKind, RouterError};
use crate::index::{KvEvent, RadixTree};
use crate::load::Weight;
use crate::rng::Rng;
use crate::types::{Candidate, Decision, PlaceRequest, RequestId, WorkerId};
use fleet::{Fleet, MemberState};
use request::Request;
use select::{Choice, Scratch};

/// A placed request.
#[derive(Clone, Debug)]
struct Booking {
    attempt: u64,
    candidate: Candidate,
    /// Holder number of its prompt blocks; `None` when they are not shared or not tracked.
    holder: Option<u32>,
    /// Blocks that it shares with nobody: output blocks, and the prompt without reuse.
    private_blocks: u64,
    weight: Weight,
    delivered: bool,
}

/// Selection, admission and booking over one fleet and one prefix index.
#[derive(Clone, Debug)]
pub struct LocalScheduler {
    config: RouterConfig,
    fleet: Fleet,
    index: RadixTree,
    bookings: FxHashMap<RequestId, Booking>,
    last_attempt: u64,
    rng: Rng,
    scratch: Scratch,
    matches: Vec<(Candidate, u32)>,
}

impl LocalScheduler {
    /// A scheduler for these workers; none is fine.
    ///
    /// # Errors
    /// The first parameter or worker that is wrong.
    pub fn new(config: RouterConfig, workers: &[WorkerConfig]) -> Result<Self, RouterError> {
        config.validate()?;
        let mut fleet = Fleet::default();
        for worker in workers {
            fleet.add(worker)?;
        }
        Ok(Self {
            rng: Rng::new(config.seed),
            config,
            fleet,
            index: RadixTree::new(),
            bookings: FxHashMap::default(),
            last_attempt: 0,
            scratch: Scratch::default(),
            matches: Vec::new(),
        })
    }

    /// The prefix index.
    pub fn index(&self) -> &RadixTree {
        &self.index
    }

    /// Applies a cache event of a candidate.
    ///
    /// # Errors
    /// As [`RadixTree::apply`], and `UnknownWorker`.
    pub fn observe(&mut self, source: Candidate, event: KvEvent<'_>) -> Result<(), RouterError> {
        self.fleet.known_candidate(source)?;
        self.index.apply(source, event)
    }

    pub(crate) fn schedule(
        &mut self,
        now_ms: f64,
        from: &PlaceRequest<'_>,
    ) -> Result<Decision, RouterError> {
        let request = Request::new(&self.config, from)?;
        if self.bookings.contains_key(&request.id) {
            return Err(RouterError::new(
                ErrorKind::DuplicateRequest,
                "request_id",
                request.id,
                "an id that no live request has",
            ));
        }
        self.index
            .find_matches(&request.chain, false, &mut self.matches);
        self.scratch.spread(&self.fleet, &self.matches);
        let Self {
            config,
            fleet,
            scratch,
            rng,
            ..
        } = self;
        match select::select(config, fleet, &request, now_ms, scratch, rng) {
            None => Err(self.fleet.refusal(&request)),
            Some(choice) => Ok(self.book(now_ms, &request, choice, false)),
        }
    }

    fn book(&mut self, now_ms: f64, request: &Request, choice: Choice, queued: bool) -> Decision {
        self.last_attempt += 1;
        let attempt = self.last_attempt;
        let config = &self.config;
        let member = &mut self.fleet.members_mut()[choice.position];
        let (mut holder, mut private_blocks) = (None, 0);
        if config.router_track_active_blocks && !request.chain.is_empty() {
            if request.assumes_reuse(config) {
                holder = Some(member.prompt.add(&request.chain));
            } else {
                private_blocks = request.chain.len() as u64;
                member.private_blocks += Weight::FULL.times(private_blocks);
            }
        }
        if request.tracks_prefill(config) {
            let tokens = u64::from(request.isl_tokens - choice.cached_tokens);
            member
                .prefill
                .add(now_ms, attempt, tokens, request.expected_prefill_ms);
        }
        member.active_requests += 1;
        let candidate = member.id;
        self.bookings.insert(
            request.id,
            Booking {
                attempt,
                candidate,
                holder,
                private_blocks,
                weight: Weight::FULL,
                delivered: false,
            },
        );
        Decision {
            request_id: request.id,
            attempt,
            candidate,
            at_ms: now_ms,
            overlap_blocks: choice.overlap_blocks,
            best_available_overlap_blocks: choice.best_overlap_blocks,
            cached_tokens: choice.cached_tokens,
            isl_blocks: request.isl_blocks(&self.config),
            queued,
            binding_reused: request.bound,
        }
    }

    fn unbook(&mut self, now_ms: f64, id: RequestId) -> Option<Booking> {
        let booking = self.bookings.remove(&id)?;
        if let Some(member) = self.fleet.get_mut(booking.candidate) {
            if let Some(holder) = booking.holder {
                member.prompt.remove(holder);
            }
            member.private_blocks -= booking.weight.times(booking.private_blocks);
            member.prefill.complete(now_ms, booking.attempt);
            member.active_requests -= 1;
        }
        Some(booking)
    }

    pub(crate) fn prefill_complete(&mut self, now_ms: f64, id: RequestId) {
        if let Some(booking) = self.bookings.get(&id)
            && let Some(member) = self.fleet.get_mut(booking.candidate)
        {
            member.prefill.complete(now_ms, booking.attempt);
        }
    }

    pub(crate) fn free(&mut self, now_ms: f64, id: RequestId) {
        self.unbook(now_ms, id);
    }

    pub(crate) fn deliver(&mut self, id: RequestId) {
        if let Some(booking) = self.bookings.get_mut(&id) {
            booking.delivered = true;
        }
    }

    pub(crate) fn add_worker(&mut self, worker: &WorkerConfig) -> Result<(), RouterError> {
        self.fleet.add(worker)
    }

    pub(crate) fn drain_worker(&mut self, worker_id: WorkerId) -> Result<(), RouterError> {
        self.fleet.known(worker_id)?;
        self.fleet
            .of_worker(worker_id)
            .for_each(|m| m.state = MemberState::Draining);
        Ok(())
    }

    pub(crate) fn remove_worker(&mut self, worker_id: WorkerId) -> Result<(), RouterError> {
        self.fleet.remove(worker_id)?;
        self.index.remove_worker(worker_id);
        self.bookings
            .retain(|_, booking| booking.candidate.worker_id != worker_id);
        Ok(())
    }
}
