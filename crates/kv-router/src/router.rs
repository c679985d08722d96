//! The router that a host drives: every call carries the clock.

use crate::config::{RouterConfig, WorkerConfig};
use crate::error::{ErrorKind, RouterError};
use crate::index::{KvEvent, RadixTree};
use crate::scheduler::LocalScheduler;
use crate::types::{Candidate, Decision, PlaceRequest, Placed, RequestId, WorkerId};

/// The largest clock value, ms: the largest integer up to which f64 counts exactly.
pub const MAX_CLOCK_MS: f64 = 9_007_199_254_740_992.0;

/// The routing policy under the host's clock.
///
/// Every method takes `now_ms`, which never goes back. A method that can let other requests go
/// returns their placements, in order; the host dispatches them at once and reports
/// `dispatch_committed` or `dispatch_aborted` for each. An error leaves the state unchanged.
#[derive(Clone, Debug)]
pub struct OfflineRouter {
    now_ms: f64,
    scheduler: LocalScheduler,
}

impl OfflineRouter {
    /// A router at clock 0 for these workers; none is fine, requests then wait for one.
    ///
    /// # Errors
    /// The first parameter or worker that is wrong.
    pub fn new(config: RouterConfig, workers: &[WorkerConfig]) -> Result<Self, RouterError> {
        Ok(Self {
            now_ms: 0.0,
            scheduler: LocalScheduler::new(config, workers)?,
        })
    }

    /// Places a request, or keeps it waiting.
    ///
    /// # Errors
    /// `DuplicateRequest`, `InvalidValue`, `NoEndpoints` and the other refusals of placement.
    pub fn place(
        &mut self,
        now_ms: f64,
        request: &PlaceRequest<'_>,
    ) -> Result<Placed, RouterError> {
        self.check_clock(now_ms)?;
        let decision = Some(self.scheduler.schedule(now_ms, request)?);
        self.now_ms = now_ms;
        Ok(Placed {
            decision,
            released: Vec::new(),
        })
    }

    /// Applies a cache event of one candidate.
    ///
    /// # Errors
    /// `ParentNotFound`, `SelfParent`, `UnknownWorker`.
    pub fn observe(
        &mut self,
        now_ms: f64,
        source: Candidate,
        event: KvEvent<'_>,
    ) -> Result<(), RouterError> {
        self.check_clock(now_ms)?;
        self.scheduler.observe(source, event)?;
        self.now_ms = now_ms;
        Ok(())
    }

    /// The prompt of the request is computed: its prefill load is gone. Idempotent.
    pub fn prefill_completed(
        &mut self,
        now_ms: f64,
        id: RequestId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        self.scheduler.prefill_complete(now_ms, id);
        Ok(Vec::new())
    }

    /// The worker `at` accepted the request.
    ///
    /// # Errors
    /// `UnknownRequest`, `WrongState`; `DispatchMismatch` when `at` is not where it was placed.
    pub fn dispatch_committed(
        &mut self,
        now_ms: f64,
        id: RequestId,
        at: Candidate,
    ) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        let _ = at;
        self.scheduler.deliver(id);
        Ok(Vec::new())
    }

    /// The dispatch of the request failed: its booking is gone.
    pub fn dispatch_aborted(
        &mut self,
        now_ms: f64,
        id: RequestId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        self.scheduler.free(now_ms, id);
        Ok(Vec::new())
    }

    /// The request ended, however it ended. An unknown id is harmless.
    pub fn request_terminal(
        &mut self,
        now_ms: f64,
        id: RequestId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        self.scheduler.free(now_ms, id);
        Ok(Vec::new())
    }

    /// Withdraws a request that waits or is placed but not dispatched.
    pub fn cancel(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        self.scheduler.free(now_ms, id);
        Ok(Vec::new())
    }

    /// Adds a worker.
    pub fn worker_ready(
        &mut self,
        now_ms: f64,
        worker: &WorkerConfig,
    ) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        self.scheduler.add_worker(worker)?;
        Ok(Vec::new())
    }

    /// The worker takes no new requests but finishes the ones it has.
    pub fn worker_draining(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        self.scheduler.drain_worker(worker_id)?;
        Ok(Vec::new())
    }

    /// The worker is gone with everything on it; its id can come back.
    pub fn worker_removed(
        &mut self,
        now_ms: f64,
        worker_id: WorkerId,
    ) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        self.scheduler.remove_worker(worker_id)?;
        Ok(Vec::new())
    }

    /// Topology changes are done: everything that can go now goes.
    pub fn topology_settled(&mut self, now_ms: f64) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        Ok(Vec::new())
    }

    /// Time passed; lets go what time alone frees.
    pub fn advance_clock(&mut self, now_ms: f64) -> Result<Vec<Decision>, RouterError> {
        self.tick(now_ms)?;
        Ok(Vec::new())
    }

    /// The earliest time at which `advance_clock` can let something go, ms.
    pub fn next_wakeup_ms(&self) -> Option<f64> {
        None
    }

    /// Number of requests that wait.
    pub fn pending_count(&self) -> usize {
        0
    }

    /// The prefix index.
    pub fn index(&self) -> &RadixTree {
        self.scheduler.index()
    }

    fn tick(&mut self, now_ms: f64) -> Result<(), RouterError> {
        self.check_clock(now_ms)?;
        self.now_ms = now_ms;
        Ok(())
    }

    fn check_clock(&self, now_ms: f64) -> Result<(), RouterError> {
        if !(0.0..=MAX_CLOCK_MS).contains(&now_ms) {
            return Err(RouterError::new(
                ErrorKind::ClockInvalid,
                "now_ms",
                now_ms,
                format!("milliseconds from 0 to {MAX_CLOCK_MS}"),
            ));
        }
        if now_ms < self.now_ms {
            return Err(RouterError::new(
                ErrorKind::ClockBackwards,
                "now_ms",
                now_ms,
                format!("at least {}, the time of the call before", self.now_ms),
            ));
        }
        Ok(())
    }
}
