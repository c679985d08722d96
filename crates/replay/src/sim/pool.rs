//! A pool of workers: the engines of their ranks, and the passes that run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kv_router::Candidate;

use crate::config::ReplayConfig;
use crate::engine::{Engine, Job, PassEnd, Refusal};
use crate::ledger::Ledger;
use crate::time::Nanos;

/// Workers of one kind. The ranks of a worker start their passes together, and the passes end
/// together when the slowest is done.
#[derive(Debug)]
pub(super) struct Pool {
    dp_size: u32,
    /// The ranks of the first worker, then those of the next.
    engines: Vec<Engine>,
    /// Ends of running passes, by worker.
    passes: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// By worker: whether a pass is running.
    busy: Vec<bool>,
    /// Workers that may be able to start a pass now.
    ready: Vec<u32>,
}

impl Pool {
    /// Idle workers with empty caches. `with_events`: their caches keep logs.
    pub(super) fn new(config: &ReplayConfig, workers: u32, with_events: bool) -> Self {
        let dp_size = config.cluster.dp_size;
        let ranks = workers as usize * dp_size as usize;
        Self {
            dp_size,
            engines: (0..ranks)
                .map(|_| Engine::new(&config.engine, with_events))
                .collect(),
            passes: BinaryHeap::new(),
            busy: vec![false; workers as usize],
            ready: Vec::new(),
        }
    }

    /// When the next pass ends.
    pub(super) fn next_end(&self) -> Option<Nanos> {
        self.passes.peek().map(|&Reverse((end, _))| end)
    }

    /// The next worker, in order, whose pass has ended by `now`, and when.
    pub(super) fn pop_ended(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        let &Reverse((end, worker)) = self.passes.peek().filter(|next| next.0.0 <= now)?;
        self.passes.pop();
        self.busy[worker as usize] = false;
        self.ready.push(worker);
        Some((end, worker))
    }

    /// The ranks of a worker.
    pub(super) fn ranks(&self, worker: u32) -> impl Iterator<Item = Candidate> + use<> {
        (0..self.dp_size).map(move |rank| Candidate::new(worker, rank))
    }

    /// Ends the pass of a rank, if it had one. What its cache gained and lost is in the log of the
    /// engine, which is returned.
    pub(super) fn finish(
        &mut self,
        end: Nanos,
        at: Candidate,
        ledger: &mut Ledger,
        out: &mut PassEnd,
    ) -> &mut Engine {
        let engine = self.engine(at);
        engine.finish_pass(end, ledger, out);
        engine
    }

    /// Hands a request to a rank.
    pub(super) fn submit(&mut self, at: Candidate, job: Job<'_>) -> Result<(), Refusal> {
        self.engine(at).submit(job)?;
        if !self.busy[at.worker_id as usize] {
            self.ready.push(at.worker_id);
        }
        Ok(())
    }

    /// Starts passes on the idle workers that have something to do, in order of workers.
    pub(super) fn start_passes(&mut self, now: Nanos, ledger: &mut Ledger) {
        if self.ready.len() > 1 {
            self.ready.sort_unstable();
            self.ready.dedup();
        }
        let dp_size = self.dp_size as usize;
        for worker in self.ready.drain(..) {
            let first = worker as usize * dp_size;
            let ranks = &mut self.engines[first..first + dp_size];
            let ends = ranks.iter_mut().map(|rank| rank.start_pass(now, ledger));
            // `None` is the smallest: every rank starts, and the slowest counts.
            if let Some(end) = ends.max().flatten() {
                self.busy[worker as usize] = true;
                self.passes.push(Reverse((end, worker)));
            }
        }
    }

    fn engine(&mut self, at: Candidate) -> &mut Engine {
        &mut self.engines[(at.worker_id * self.dp_size + at.dp_rank) as usize]
    }
}
