//! Whether a request goes now or waits, and the one way in which waiters go.

use super::LocalScheduler;
use super::fleet::{Eligibility, MemberState};
use super::request::{Request, Waiter};
use super::select::{cached_tokens, select};
use crate::error::{ErrorKind, RouterError};
use crate::queue::LaneKey;
use crate::types::{Candidate, Decision, PlaceRequest, Placed, RequestId};

/// The verdict on an arriving request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It can be placed at once.
    Now,
    /// It has to wait, and there is room for it.
    Wait,
}

impl LocalScheduler {
    /// Checks a request and takes its snapshot; the scratch holds its overlaps afterwards.
    pub(crate) fn prepare(
        &mut self,
        now_ms: f64,
        from: &PlaceRequest<'_>,
    ) -> Result<Waiter, RouterError> {
        let request = Request::new(&self.config, from)?;
        if self.bookings.contains_key(&request.id) || self.queue.get(request.id).is_some() {
            return Err(RouterError::new(
                ErrorKind::DuplicateRequest,
                "request_id",
                request.id,
                "an id that no live request has",
            ));
        }
        let arrival = self.last_arrival + 1;
        let mut waiter = Waiter {
            request,
            class: 0,
            cached_tokens: 0,
            arrival_ms: now_ms,
            arrival,
        };
        self.snapshot(now_ms, &mut waiter)?;
        Ok(waiter)
    }

    /// Looks at the cache for a waiter and classes it accordingly.
    pub(crate) fn snapshot(&mut self, now_ms: f64, waiter: &mut Waiter) -> Result<(), RouterError> {
        self.look_up(now_ms, &waiter.request);
        let request = &waiter.request;
        let members = self.fleet.members().iter().zip(&self.scratch.overlaps);
        let admitted = members.filter(|(member, _)| member.admits(&request.constraint));
        let cached =
            admitted.map(|(m, overlap)| cached_tokens(&self.config, request, m.id, *overlap));
        waiter.cached_tokens = cached.max().unwrap_or(0);
        let uncached = u64::from(request.isl_tokens - waiter.cached_tokens);
        waiter.class = self
            .queue
            .class_of(request.policy_class.as_deref(), uncached)?;
        Ok(())
    }

    /// Fills the scratch with the overlaps of a request.
    pub(super) fn look_up(&mut self, now_ms: f64, request: &Request) {
        self.scratch
            .look_up(&self.index, &self.fleet, now_ms, &request.chain);
    }

    /// The verdict on a prepared request. While no worker takes requests, everything waits.
    ///
    /// # Errors
    /// No candidate will do, or a queue limit is reached.
    pub(crate) fn admission(&self, now_ms: f64, waiter: &Waiter) -> Result<Admission, RouterError> {
        let constraint = &waiter.request.constraint;
        let best = self
            .fleet
            .members()
            .iter()
            .map(|member| member.eligibility(constraint))
            .max();
        let waits = match best.unwrap_or(Eligibility::No) {
            Eligibility::Eligible => {
                let lane = LaneKey::of(constraint);
                self.queue.has_backlog(&lane, waiter.class)
                    || self.queue.busy_rule(waiter.class).pool_is_busy(
                        &self.fleet,
                        constraint,
                        now_ms,
                    )
            }
            // A session waits for its worker: overload passes.
            Eligibility::Overloaded if waiter.request.bound => true,
            _ if self.fleet.takes_requests() => return Err(self.fleet.refusal(&waiter.request)),
            _ => true,
        };
        if !waits {
            return Ok(Admission::Now);
        }
        self.check_room(waiter)?;
        Ok(Admission::Wait)
    }

    /// Refuses a waiter that the limits of its class have no room for.
    pub(crate) fn check_room(&self, waiter: &Waiter) -> Result<(), RouterError> {
        self.queue
            .check_limits(waiter.class, self.fleet.members().len())
    }

    /// Carries out a verdict, and lets go what the passing of time freed.
    pub(crate) fn placed(&mut self, now_ms: f64, waiter: Waiter, admission: Admission) -> Placed {
        let id = waiter.request.id;
        let mut decision = self.admit(now_ms, waiter, admission);
        let mut released = self.drain(now_ms);
        if let Some(own) = released
            .iter()
            .position(|released| released.request_id == id)
        {
            decision = Some(released.remove(own));
        }
        Placed { decision, released }
    }

    /// Carries out a verdict on a request that was prepared last.
    fn admit(&mut self, now_ms: f64, waiter: Waiter, admission: Admission) -> Option<Decision> {
        self.last_arrival = self.last_arrival.max(waiter.arrival);
        match admission {
            Admission::Wait => {
                self.queue.enqueue(waiter);
                None
            }
            Admission::Now => {
                let Self {
                    config,
                    fleet,
                    scratch,
                    rng,
                    ..
                } = self;
                let choice = select(config, fleet, &waiter.request, now_ms, scratch, rng)
                    .expect("the verdict found an eligible candidate");
                Some(self.book(now_ms, waiter.request, choice, false))
            }
        }
    }

    /// Puts a request into its lane that waited elsewhere; the next drain looks at it.
    pub(crate) fn readmit(&mut self, now_ms: f64, mut waiter: Waiter) {
        if self.snapshot(now_ms, &mut waiter).is_err() {
            unreachable!("the family of a waiter was known when it arrived");
        }
        self.dirty.insert(LaneKey::of(&waiter.request.constraint));
        self.queue.enqueue(waiter);
    }

    /// Keeps a prepared request that waits for something else than capacity.
    pub(crate) fn park(&mut self, waiter: Waiter) {
        self.last_arrival = self.last_arrival.max(waiter.arrival);
        self.queue.park(waiter);
    }

    /// Takes a request out of the queue.
    pub(crate) fn withdraw(&mut self, id: RequestId) -> Option<Waiter> {
        self.queue.remove(id)
    }

    /// Session-bound waiters whose constraint admits this candidate, in order of arrival.
    pub(crate) fn bound_waiters(&self, to: Candidate) -> Vec<RequestId> {
        let exact = self.queue.ids_in(&LaneKey::Exact(to));
        let custom = self
            .queue
            .custom_lanes()
            .flat_map(|lane| self.queue.ids_in(lane));
        let waiters = exact
            .into_iter()
            .chain(custom)
            .filter_map(|id| self.queue.get(id));
        let pinned = |waiter: &&Waiter| {
            let pin = waiter.request.constraint.pin;
            waiter.request.bound
                && pin.is_some_and(|p| p.worker_id == to.worker_id && p.dp_rank == Some(to.dp_rank))
        };
        let mut bound: Vec<_> = waiters.filter(pinned).collect();
        bound.sort_unstable_by_key(|waiter| waiter.arrival);
        // A lane comes up once a class.
        bound.dedup_by_key(|waiter| waiter.arrival);
        bound.iter().map(|waiter| waiter.request.id).collect()
    }

    /// Notes that the candidate may have become free: the next drain looks at the lanes of
    /// requests that it could serve, and at no others.
    pub(super) fn mark(&mut self, candidate: Candidate) {
        if self.queue.in_lanes() == 0 {
            return;
        }
        self.dirty.insert(LaneKey::Any);
        self.dirty.insert(LaneKey::Worker(candidate.worker_id));
        self.dirty.insert(LaneKey::Exact(candidate));
        if let Some(member) = self.fleet.get(candidate) {
            let admits = |lane: &&LaneKey| match lane {
                LaneKey::Custom(constraint) => member.admits(constraint),
                _ => false,
            };
            self.dirty
                .extend(self.queue.custom_lanes().filter(admits).cloned());
        }
    }

    /// Notes that anything may have changed.
    pub(crate) fn mark_all(&mut self) {
        self.dirty.extend(self.queue.lanes().cloned());
    }

    /// Lets every waiter go that can, in the order of classes and lanes, and gives their
    /// placements. Whatever frees capacity ends here.
    pub(crate) fn drain(&mut self, now_ms: f64) -> Vec<Decision> {
        let mut released = Vec::new();
        if self.fades() && now_ms > self.drained_at_ms {
            self.mark_all();
        }
        self.drained_at_ms = now_ms;
        if self.dirty.is_empty() {
            return released;
        }
        let classes = self.queue.classes();
        let lanes = std::mem::take(&mut self.dirty).into_iter();
        let mut open: Vec<(LaneKey, usize)> = lanes
            .flat_map(|lane| classes.clone().map(move |class| (lane.clone(), class)))
            .collect();
        loop {
            // A blocked lane stays blocked: placements only add load.
            open.retain(|(lane, class)| self.can_go(now_ms, lane, *class));
            let mut heads: Vec<Option<&Waiter>> = vec![None; classes.len()];
            for (lane, class) in &open {
                let head = self
                    .queue
                    .head(now_ms, lane, *class)
                    .expect("the lane is not empty");
                heads[*class] = Some(match heads[*class] {
                    None => head,
                    Some(other) => self.queue.before(now_ms, other, head),
                });
            }
            let ready: Vec<_> = heads
                .iter()
                .flatten()
                .map(|w| (w.class, w.cost()))
                .collect();
            let ids: Vec<_> = heads
                .iter()
                .map(|head| head.map(|w| w.request.id))
                .collect();
            if ready.is_empty() {
                return released;
            }
            let class = self.queue.next_class(&ready);
            let waiter = ids[class].and_then(|id| self.queue.remove(id));
            let request = waiter.expect("a ready class has a head").request;
            self.look_up(now_ms, &request);
            let Self {
                config,
                fleet,
                scratch,
                rng,
                ..
            } = self;
            let choice = select(config, fleet, &request, now_ms, scratch, rng)
                .expect("the lane has an eligible candidate");
            released.push(self.book(now_ms, request, choice, true));
        }
    }

    /// Whether the head of the lane could be placed.
    fn can_go(&mut self, now_ms: f64, lane: &LaneKey, class: usize) -> bool {
        let Some(head) = self.queue.head(now_ms, lane, class) else {
            return false;
        };
        self.touched += 1;
        let constraint = &head.request.constraint;
        let eligible =
            |m: &super::fleet::Member| m.eligibility(constraint) == Eligibility::Eligible;
        self.fleet.members().iter().any(eligible)
            && !self
                .queue
                .busy_rule(class)
                .pool_is_busy(&self.fleet, constraint, now_ms)
    }

    /// Whether the candidate takes new requests, overload aside.
    pub(crate) fn is_open(&self, candidate: Candidate) -> bool {
        self.fleet
            .get(candidate)
            .is_some_and(|member| member.state == MemberState::Ready)
    }

    /// Whether the request's constraint admits the candidate.
    pub(crate) fn admits(&self, candidate: Candidate, request: &Request) -> bool {
        self.fleet
            .get(candidate)
            .is_some_and(|member| member.admits(&request.constraint))
    }
}
