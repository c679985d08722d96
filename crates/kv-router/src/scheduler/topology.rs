//! Workers that come, drain, fail and go.

use super::LocalScheduler;
use super::fleet::MemberState;
use crate::config::WorkerConfig;
use crate::error::RouterError;
use crate::types::{Decision, RequestId, WorkerId};

impl LocalScheduler {
    /// Adds a worker; it takes requests from now on.
    ///
    /// # Errors
    /// `InvalidValue`, `DuplicateWorker`.
    pub fn add_worker(
        &mut self,
        now_ms: f64,
        worker: &WorkerConfig,
    ) -> Result<Vec<Decision>, RouterError> {
        self.clock.check(now_ms)?;
        worker.suits(&self.config)?;
        self.fleet.add(worker)?;
        self.clock.set(now_ms);
        self.mark_all();
        Ok(self.drain(now_ms))
    }

    /// The worker takes no new requests and finishes the ones it has.
    ///
    /// # Errors
    /// `UnknownWorker`.
    pub fn drain_worker(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.set_state(now_ms, worker_id, MemberState::Draining)?;
        Ok(self.drain(now_ms))
    }

    /// The worker is dead but not yet removed: it is never chosen.
    ///
    /// # Errors
    /// `UnknownWorker`.
    pub fn fence_worker(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.set_state(now_ms, worker_id, MemberState::Fenced)?;
        Ok(self.drain(now_ms))
    }

    /// Changes whether the worker takes requests, and marks everything for the next drain.
    pub(crate) fn set_state(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
        state: MemberState,
    ) -> Result<(), RouterError> {
        self.clock.check(now_ms)?;
        self.fleet.known(worker_id)?;
        self.clock.set(now_ms);
        self.fleet
            .of_worker(worker_id)
            .for_each(|member| member.state = state);
        self.mark_all();
        Ok(())
    }

    /// An overloaded worker gets no new requests until the overload ends.
    ///
    /// # Errors
    /// `UnknownWorker`.
    pub fn set_overloaded(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
        overloaded: bool,
    ) -> Result<Vec<Decision>, RouterError> {
        self.clock.check(now_ms)?;
        self.fleet.known(worker_id)?;
        self.clock.set(now_ms);
        self.fleet
            .of_worker(worker_id)
            .for_each(|member| member.overloaded = overloaded);
        self.mark_all();
        Ok(self.drain(now_ms))
    }

    /// The worker is gone with its bookings and its part of the index; its id can come back.
    ///
    /// # Errors
    /// `UnknownWorker`.
    pub fn remove_worker(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.clock.check(now_ms)?;
        self.fleet.known(worker_id)?;
        self.clock.set(now_ms);
        self.forget_worker(worker_id);
        Ok(self.drain(now_ms))
    }

    /// Erases a worker and marks everything for the next drain; gives the requests it had.
    pub(crate) fn forget_worker(&mut self, worker_id: WorkerId) -> Vec<RequestId> {
        let bookings = self.bookings.iter();
        let on_it = bookings.filter(|(_, booking)| booking.candidate.worker_id == worker_id);
        let mut lost: Vec<_> = on_it.map(|(&id, _)| id).collect();
        lost.sort_unstable();
        lost.iter().for_each(|id| {
            self.bookings.remove(id);
        });
        self.fleet.remove(worker_id);
        self.index.remove_worker(worker_id);
        self.mark_all();
        lost
    }
}
