//! Requests and their sessions: who initializes, who waits, who is bound.

use std::sync::Arc;

use super::OfflineRouter;
use crate::affinity::{Abandoned, Acquired, Hold, Lease, SessionAffinity, affinity_key};
use crate::config::{AffinityConfig, AffinityMode, BindingMode};
use crate::error::{ErrorKind, RouterError};
use crate::scheduler::{Admission, Waiter};
use crate::types::{Candidate, Placed, RequestId, SessionIdentity, WorkerId};

/// The affinity table of a router.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    pub(super) table: SessionAffinity,
    mode: AffinityMode,
}

/// What a live request has of its key.
#[derive(Clone, Debug)]
pub(super) enum Grip {
    /// It initializes the key.
    Hold(Hold),
    /// It shares the binding.
    Lease(Lease),
    /// It waits for the initialization.
    Waiting(Arc<str>),
}

impl Grip {
    pub(super) fn key(&self) -> &str {
        match self {
            Self::Hold(hold) => hold.key(),
            Self::Lease(lease) => lease.key(),
            Self::Waiting(key) => key,
        }
    }
}

/// How a request stands to the binding of its key.
enum Standing {
    /// It follows the binding.
    Bound(Candidate),
    /// It waits for the initialization.
    Waiting,
    /// It initializes the key, whose binding, if any, has lost its worker.
    Initializer,
    /// Its own constraints exclude the bound candidate: it goes without the session.
    Alone,
}

impl Sessions {
    pub(super) fn new(config: &AffinityConfig) -> Result<Self, RouterError> {
        Ok(Self {
            table: SessionAffinity::new(config)?,
            mode: config.mode,
        })
    }

    pub(super) fn key(
        &self,
        session: Option<&SessionIdentity<'_>>,
    ) -> Result<Arc<str>, RouterError> {
        affinity_key(self.mode, session)
    }

    pub(super) fn is_soft(&self) -> bool {
        self.table.binding() == BindingMode::Soft
    }
}

impl OfflineRouter {
    /// Places a request whose session has affinity.
    pub(super) fn place_in_session(
        &mut self,
        now_ms: f64,
        key: &Arc<str>,
        mut waiter: Waiter,
    ) -> Result<Placed, RouterError> {
        let sessions = self
            .sessions
            .as_ref()
            .expect("the caller found the key in it");
        sessions.table.check_room(now_ms, key)?;
        let standing = self.standing(now_ms, key, &waiter);
        if let Standing::Bound(target) = standing {
            waiter.request.bind(target);
            self.scheduler.snapshot(now_ms, &mut waiter)?;
        }
        let admission = match standing {
            Standing::Waiting => self
                .scheduler
                .check_room(&waiter)
                .map(|()| Admission::Wait)?,
            _ => self.scheduler.admission(now_ms, &waiter)?,
        };
        self.scheduler.clock.set(now_ms);
        self.grip(now_ms, key, &standing, waiter.request.id);
        if let Standing::Waiting = standing {
            self.scheduler.park(waiter);
            return Ok(Placed {
                decision: None,
                released: self.scheduler.drain(now_ms),
            });
        }
        Ok(self.scheduler.placed(now_ms, waiter, admission))
    }

    fn standing(&self, now_ms: f64, key: &str, waiter: &Waiter) -> Standing {
        let sessions = self.sessions.as_ref().expect("sessions have keys");
        let Some(target) = sessions.table.query(now_ms, key) else {
            let initializing = sessions.table.is_initializing(key);
            return if initializing {
                Standing::Waiting
            } else {
                Standing::Initializer
            };
        };
        if !self.scheduler.is_open(target) {
            Standing::Initializer
        } else if self.scheduler.admits(target, &waiter.request) {
            Standing::Bound(target)
        } else {
            Standing::Alone
        }
    }

    /// Gives a request what its standing entitles it to.
    fn grip(&mut self, now_ms: f64, key: &Arc<str>, standing: &Standing, id: RequestId) {
        let sessions = self.sessions.as_mut().expect("sessions have keys");
        if let Standing::Alone = standing {
            return;
        }
        if let Standing::Initializer = standing {
            sessions.table.invalidate(key);
        }
        let grip = match sessions.table.acquire(now_ms, key, id) {
            Ok(Acquired::Initializer(hold)) => Grip::Hold(hold),
            Ok(Acquired::Bound(lease)) => Grip::Lease(lease),
            Ok(Acquired::Waiting) => Grip::Waiting(Arc::clone(key)),
            // Room for the key was checked when it came up first, and a known key keeps its room.
            Err(_) => return,
        };
        self.grips.insert(id, grip);
    }

    /// Sends a waiter, which is in no lane and has no grip, back to admission.
    fn enter(&mut self, now_ms: f64, key: &Arc<str>, mut waiter: Waiter) {
        waiter.request.unbind();
        let standing = self.standing(now_ms, key, &waiter);
        self.grip(now_ms, key, &standing, waiter.request.id);
        match standing {
            Standing::Waiting => self.scheduler.park(waiter),
            Standing::Bound(target) => {
                waiter.request.bind(target);
                self.scheduler.readmit(now_ms, waiter);
            }
            Standing::Initializer | Standing::Alone => self.scheduler.readmit(now_ms, waiter),
        }
    }

    /// The worker took the request: its key is bound from now on, and its waiters are let in.
    pub(super) fn commit_grip(&mut self, now_ms: f64, id: RequestId, at: Candidate) {
        let Some(Grip::Hold(hold)) = self.grips.get(&id).cloned() else {
            return;
        };
        let sessions = self.sessions.as_mut().expect("holds come from the table");
        let Ok((lease, waiters)) = sessions.table.commit(now_ms, &hold, at) else {
            return;
        };
        self.grips.insert(id, Grip::Lease(lease));
        self.reenter(now_ms, &waiters);
    }

    /// Takes waiters out of where they wait and sends them back to admission, in order.
    fn reenter(&mut self, now_ms: f64, ids: &[RequestId]) {
        for id in ids {
            let grip = self.grips.remove(id);
            if let (Some(waiter), Some(grip)) = (self.scheduler.withdraw(*id), grip) {
                self.enter(now_ms, &grip.key().into(), waiter);
            }
        }
    }

    /// The request ended or failed: what it had of its key goes back.
    pub(super) fn let_go(&mut self, now_ms: f64, id: RequestId) {
        let (Some(sessions), Some(grip)) = (self.sessions.as_mut(), self.grips.remove(&id)) else {
            return;
        };
        match grip {
            Grip::Waiting(key) => {
                sessions.table.withdraw(&key, id);
            }
            // The clock was checked, and a lease of an ended binding ends silently.
            Grip::Lease(lease) => drop(sessions.table.release(now_ms, &lease)),
            Grip::Hold(hold) => {
                if let Ok(Abandoned::Next(next, hold)) = sessions.table.abandon(now_ms, &hold) {
                    self.grips.insert(next, Grip::Hold(hold));
                    if let Some(waiter) = self.scheduler.withdraw(next) {
                        self.scheduler.readmit(now_ms, waiter);
                    }
                }
            }
        }
    }

    /// Waiters that are bound to a worker, by arrival.
    pub(super) fn bound_to(&self, worker_id: WorkerId) -> Vec<RequestId> {
        if self.sessions.is_none() {
            return Vec::new();
        }
        let candidates = self.scheduler.candidates_of(worker_id);
        candidates
            .into_iter()
            .flat_map(|id| self.scheduler.bound_waiters(id))
            .collect()
    }

    /// The worker takes no requests any more: ends its bindings and sends `waiters`, which were
    /// bound to it, back to admission.
    pub(super) fn unbind_worker(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
        waiters: &[RequestId],
    ) {
        if let Some(sessions) = &mut self.sessions {
            sessions.table.invalidate_worker(worker_id);
        }
        self.reenter(now_ms, waiters);
    }

    /// Compares a dispatch with the placement and the binding.
    pub(super) fn check_dispatch(
        &mut self,
        now_ms: f64,
        id: RequestId,
        placed: Candidate,
        at: Candidate,
    ) -> Result<(), RouterError> {
        if at == placed {
            return Ok(());
        }
        self.scheduler.known_candidate(at)?;
        match (self.sessions.as_mut(), self.grips.get(&id)) {
            (Some(sessions), Some(Grip::Lease(lease))) if !sessions.is_soft() => {
                sessions.table.dispatched(now_ms, lease, at)
            }
            (Some(sessions), Some(grip)) if sessions.is_soft() => {
                if let Grip::Lease(lease) = grip {
                    // A binding that ended meanwhile has nothing to move.
                    drop(sessions.table.dispatched(now_ms, lease, at));
                }
                Ok(())
            }
            _ => {
                let expected = format!("{placed}, where the request was placed");
                Err(RouterError::new(
                    ErrorKind::DispatchMismatch,
                    "at",
                    at,
                    expected,
                ))
            }
        }
    }
}
