//! The seam between a replay and the KV router that places its requests.

use std::fmt;

use kv_router::{
    Candidate, Decision, KvEvent, OfflineRouter, PlaceRequest, Placed, RequestId, RouterConfig,
    RouterError, WorkerConfig,
};

use crate::error::{ConfigError, Error, Result};

/// A KV router under the clock of a replay: the part of the protocol of [`OfflineRouter`] that a
/// replay speaks. The methods mean what they mean there.
pub trait Router: fmt::Debug {
    /// Places a request, or keeps it waiting.
    ///
    /// # Errors
    /// A refusal, which no correct replay gets; so for every method.
    fn place(&mut self, now_ms: f64, request: &PlaceRequest<'_>) -> Result<Placed>;

    /// Applies a cache event of one candidate.
    ///
    /// # Errors
    /// See [`Router::place`].
    fn observe(&mut self, now_ms: f64, source: Candidate, event: KvEvent<'_>) -> Result<()>;

    /// The prompt of a request is computed.
    ///
    /// # Errors
    /// See [`Router::place`].
    fn prefill_completed(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>>;

    /// A worker took a placed request.
    ///
    /// # Errors
    /// See [`Router::place`].
    fn dispatch_committed(
        &mut self,
        now_ms: f64,
        id: RequestId,
        at: Candidate,
    ) -> Result<Vec<Decision>>;

    /// A worker refused a placed request.
    ///
    /// # Errors
    /// See [`Router::place`].
    fn dispatch_aborted(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>>;

    /// A request ended.
    ///
    /// # Errors
    /// See [`Router::place`].
    fn request_terminal(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>>;

    /// Time passed.
    ///
    /// # Errors
    /// See [`Router::place`].
    fn advance_clock(&mut self, now_ms: f64) -> Result<Vec<Decision>>;

    /// The earliest time at which time alone lets a request go, ms.
    ///
    /// # Errors
    /// See [`Router::place`].
    fn next_wakeup_ms(&self) -> Result<Option<f64>>;
}

/// Makes the router of a pool of workers.
pub type RouterFactory<'a> =
    dyn FnMut(RouterConfig, &[WorkerConfig]) -> Result<Box<dyn Router>> + 'a;

/// The factory of the router that is compiled in.
///
/// # Errors
/// A parameter of the router that is wrong.
pub fn native(config: RouterConfig, workers: &[WorkerConfig]) -> Result<Box<dyn Router>> {
    let router = OfflineRouter::new(config, workers).map_err(|error| {
        let fix = "see docs/router.md for the parameters";
        ConfigError::new("router", error.to_string(), fix)
    })?;
    Ok(Box::new(router))
}

impl Router for OfflineRouter {
    fn place(&mut self, now_ms: f64, request: &PlaceRequest<'_>) -> Result<Placed> {
        self.place(now_ms, request).map_err(refused)
    }

    fn observe(&mut self, now_ms: f64, source: Candidate, event: KvEvent<'_>) -> Result<()> {
        self.observe(now_ms, source, event).map_err(refused)
    }

    fn prefill_completed(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>> {
        self.prefill_completed(now_ms, id).map_err(refused)
    }

    fn dispatch_committed(
        &mut self,
        now_ms: f64,
        id: RequestId,
        at: Candidate,
    ) -> Result<Vec<Decision>> {
        self.dispatch_committed(now_ms, id, at).map_err(refused)
    }

    fn dispatch_aborted(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>> {
        self.dispatch_aborted(now_ms, id).map_err(refused)
    }

    fn request_terminal(&mut self, now_ms: f64, id: RequestId) -> Result<Vec<Decision>> {
        self.request_terminal(now_ms, id).map_err(refused)
    }

    fn advance_clock(&mut self, now_ms: f64) -> Result<Vec<Decision>> {
        self.advance_clock(now_ms).map_err(refused)
    }

    fn next_wakeup_ms(&self) -> Result<Option<f64>> {
        Ok(self.next_wakeup_ms())
    }
}

/// The router refused what a correct replay never asks of it.
fn refused(error: RouterError) -> Error {
    Error::Internal(format!("the router refused a call: {error}"))
}
