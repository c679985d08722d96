//! Which worker gets a request.

use kv_router::{Candidate, Decision, KvEvent, PlaceRequest, StoredBlock, WorkerConfig};

use super::hashes::PrefixHashes;
use crate::config::{ReplayConfig, RouterPolicy};
use crate::engine::{CacheEvent, CacheEventKind, FIRST_PRIVATE_NODE, PassEnd, Span};
use crate::error::Result;
use crate::router::{Router, RouterFactory};
use crate::time::{self, Nanos};
use crate::trace::Trace;

/// A request and the worker it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) request: u32,
    pub(super) at: Candidate,
    /// Prefix blocks that the worker holds, as the router sees it.
    pub(super) overlap: u32,
    /// The longest prefix that any worker holds, as the router sees it.
    pub(super) best_overlap: u32,
}

/// A placement policy and its state. Placements, also of requests that waited, go to `out`.
#[derive(Debug)]
pub(super) enum Placement {
    RoundRobin(RoundRobin),
    Kv(Box<KvPlacement>),
}

impl Placement {
    pub(super) fn new(
        trace: &Trace,
        config: &ReplayConfig,
        routers: &mut RouterFactory<'_>,
    ) -> Result<Self> {
        Ok(match config.router.policy {
            RouterPolicy::RoundRobin => Self::RoundRobin(RoundRobin::new(config)),
            RouterPolicy::KvRouter => Self::Kv(Box::new(KvPlacement::new(trace, config, routers)?)),
        })
    }

    /// Whether the policy follows what workers cache.
    pub(super) fn wants_events(&self) -> bool {
        matches!(self, Self::Kv(_))
    }

    /// Places an arrival, or keeps it waiting.
    pub(super) fn place(
        &mut self,
        trace: &Trace,
        now: Nanos,
        request: u32,
        spans: &[Span],
        out: &mut Vec<Placed>,
    ) -> Result<()> {
        match self {
            Self::RoundRobin(turn) => {
                out.push(Placed {
                    request,
                    at: turn.next(),
                    overlap: 0,
                    best_overlap: 0,
                });
                Ok(())
            }
            Self::Kv(router) => router.place(trace, now, request, spans, out),
        }
    }

    /// A worker took a placed request, or refused it for good.
    pub(super) fn dispatched(
        &mut self,
        now: Nanos,
        placed: Placed,
        accepted: bool,
        out: &mut Vec<Placed>,
    ) -> Result<()> {
        match self {
            Self::RoundRobin(_) => Ok(()),
            Self::Kv(router) => router.dispatched(now, placed, accepted, out),
        }
    }

    /// A pass ended.
    pub(super) fn pass_ended(
        &mut self,
        trace: &Trace,
        now: Nanos,
        source: Candidate,
        events: &[CacheEvent],
        pass: &PassEnd,
        out: &mut Vec<Placed>,
    ) -> Result<()> {
        match self {
            Self::RoundRobin(_) => Ok(()),
            Self::Kv(router) => router.pass_ended(trace, now, source, events, pass, out),
        }
    }

    /// When time alone changes something, at the earliest.
    pub(super) fn next_wakeup(&self) -> Result<Option<Nanos>> {
        let wakeup = match self {
            Self::RoundRobin(_) => None,
            Self::Kv(router) => router.core.next_wakeup_ms()?,
        };
        Ok(wakeup.map(|ms| {
            let at = time::from_ms(ms);
            // Never a hair before it: the clock would stand still.
            if time::to_ms(at) < ms { at + 1 } else { at }
        }))
    }

    /// Lets time pass.
    pub(super) fn advance(&mut self, now: Nanos, out: &mut Vec<Placed>) -> Result<()> {
        match self {
            Self::RoundRobin(_) => Ok(()),
            Self::Kv(router) => router.advance(now, out),
        }
    }
}

/// Whose turn it is: first the workers in order, then the ranks of each.
#[derive(Debug)]
pub(super) struct RoundRobin {
    next: Candidate,
    workers: u32,
    dp_size: u32,
}

impl RoundRobin {
    fn new(config: &ReplayConfig) -> Self {
        Self {
            next: Candidate::new(0, 0),
            workers: config.cluster.workers,
            dp_size: config.cluster.dp_size,
        }
    }

    fn next(&mut self) -> Candidate {
        let at = self.next;
        self.next.worker_id += 1;
        if self.next.worker_id == self.workers {
            self.next = Candidate::new(0, (at.dp_rank + 1) % self.dp_size);
        }
        at
    }
}

/// The KV router, with the hashes of the trace.
#[derive(Debug)]
pub(super) struct KvPlacement {
    core: Box<dyn Router>,
    hashes: PrefixHashes,
    stored: Vec<StoredBlock>,
    removed: Vec<u64>,
}

impl KvPlacement {
    fn new(trace: &Trace, config: &ReplayConfig, routers: &mut RouterFactory<'_>) -> Result<Self> {
        let workers: Vec<WorkerConfig> = (0..config.cluster.workers)
            .map(|worker| WorkerConfig {
                total_kv_blocks: Some(config.engine.num_gpu_blocks.into()),
                max_num_batched_tokens: Some(config.engine.max_num_batched_tokens.into()),
                ..WorkerConfig::new(worker, config.cluster.dp_size)
            })
            .collect();
        let core = routers(config.router_config(), &workers)?;
        let hashes = PrefixHashes::new(&trace.prefixes, config.engine.block_size);
        Ok(Self {
            core,
            hashes,
            stored: Vec::new(),
            removed: Vec::new(),
        })
    }

    fn place(
        &mut self,
        trace: &Trace,
        now: Nanos,
        request: u32,
        spans: &[Span],
        out: &mut Vec<Placed>,
    ) -> Result<()> {
        let asked = &trace.requests[request as usize];
        let hints = trace.hints.get(&request).copied().unwrap_or_default();
        let hashes = self.hashes.prompt(&trace.prefixes, spans, asked.tail);
        let wanted = PlaceRequest {
            request_id: request.into(),
            isl_tokens: asked.input,
            expected_output_tokens: Some(asked.output),
            sequence_hashes: &hashes,
            priority_jump: hints.priority_jump,
            strict_priority: hints.strict_priority,
            ..PlaceRequest::default()
        };
        let placed = self.core.place(time::to_ms(now), &wanted)?;
        take(out, placed.decision.as_slice());
        take(out, &placed.released);
        Ok(())
    }

    fn dispatched(
        &mut self,
        now: Nanos,
        placed: Placed,
        accepted: bool,
        out: &mut Vec<Placed>,
    ) -> Result<()> {
        let (now, id) = (time::to_ms(now), placed.request.into());
        let released = if accepted {
            self.core.dispatch_committed(now, id, placed.at)
        } else {
            self.core.dispatch_aborted(now, id)
        };
        take(out, &released?);
        Ok(())
    }

    fn pass_ended(
        &mut self,
        trace: &Trace,
        now: Nanos,
        source: Candidate,
        events: &[CacheEvent],
        pass: &PassEnd,
        out: &mut Vec<Placed>,
    ) -> Result<()> {
        let now = time::to_ms(now);
        for event in events {
            // What no prompt can match, the router need not know.
            if event.node < FIRST_PRIVATE_NODE {
                self.observe(trace, now, source, event)?;
            }
        }
        for &request in &pass.prefilled {
            let released = self.core.prefill_completed(now, request.into());
            take(out, &released?);
        }
        for &request in &pass.completed {
            let released = self.core.request_terminal(now, request.into());
            take(out, &released?);
        }
        Ok(())
    }

    fn observe(
        &mut self,
        trace: &Trace,
        now_ms: f64,
        source: Candidate,
        event: &CacheEvent,
    ) -> Result<()> {
        let CacheEvent {
            kind,
            node,
            low,
            high,
        } = *event;
        let tree = &trace.prefixes;
        let parent_hash = self.hashes.stretch(tree, node, low, high, &mut self.stored);
        let event = match kind {
            CacheEventKind::Stored => KvEvent::Stored {
                parent_hash,
                blocks: &self.stored,
            },
            CacheEventKind::Removed => {
                self.removed.clear();
                self.removed
                    .extend(self.stored.iter().map(|block| block.block_hash));
                KvEvent::Removed {
                    block_hashes: &self.removed,
                }
            }
        };
        self.core.observe(now_ms, source, event)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Placed>) -> Result<()> {
        let released = self.core.advance_clock(time::to_ms(now))?;
        take(out, &released);
        Ok(())
    }
}

fn take(out: &mut Vec<Placed>, decisions: &[Decision]) {
    out.extend(decisions.iter().map(|decision| Placed {
        request: decision.request_id as u32,
        at: decision.candidate,
        overlap: decision.overlap_blocks,
        best_overlap: decision.best_available_overlap_blocks,
    }));
}
