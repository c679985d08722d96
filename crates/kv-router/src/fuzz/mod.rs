//! Random command sequences: no panic, no hang, no broken invariant, and every refused call
//! leaves the state as it was.

mod commands;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use crate::{
    Candidate, Decision, ErrorKind, KvEvent, OfflineRouter, PlaceRequest, RouterConfig,
    RouterError, SessionIdentity, StoredBlock, WorkerConfig,
};
use commands::{BLOCK, Command, Place, chain, config, local, step};

/// A router, and what a host knows about it.
struct Host {
    router: OfflineRouter,
    now_ms: f64,
    /// Where each placed request is.
    placed: BTreeMap<u64, Candidate>,
    waiting: BTreeSet<u64>,
    /// What each candidate's events add up to.
    held: BTreeMap<Candidate, BTreeSet<u64>>,
}

impl Host {
    fn new(config: RouterConfig) -> Self {
        let workers = [worker(0, 2, false), worker(1, 1, true)];
        Self {
            router: OfflineRouter::new(config, &workers).expect("the configuration is valid"),
            now_ms: 0.0,
            placed: BTreeMap::new(),
            waiting: BTreeSet::new(),
            held: BTreeMap::new(),
        }
    }

    fn run(&mut self, dt: f64, command: &Command) {
        let before = self.router.clone();
        let now_ms = self.now_ms + dt;
        match self.call(now_ms, command) {
            Ok(released) => {
                self.now_ms = now_ms;
                if self.router.next_wakeup_ms().is_some_and(|at| at <= now_ms) {
                    // The calls that place nothing leave what time frees to this one.
                    let late = self.router.advance_clock(now_ms).expect("the clock stands");
                    late.iter().for_each(|decision| self.placed_late(decision));
                }
                released
                    .iter()
                    .for_each(|decision| self.placed_late(decision));
            }
            Err(error) if error.kind() == ErrorKind::BindingViolated => self.now_ms = now_ms,
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains(error.field()) && !error.expected().is_empty(),
                    "{text}"
                );
                assert_eq!(
                    before.state_digest(),
                    self.router.state_digest(),
                    "{command:?} was refused ({text}) and changed the state"
                );
                return;
            }
        }
        self.router.check_invariants();
        let index = self.router.index();
        let mut held = BTreeMap::<_, BTreeSet<_>>::new();
        for row in index.dump() {
            held.entry(row.source)
                .or_default()
                .insert(row.sequence_hash);
        }
        self.held.retain(|_, blocks| !blocks.is_empty());
        assert_eq!(held, self.held, "the index differs from the events");
        assert_eq!(self.waiting.len(), self.router.pending_count());
    }

    fn placed_late(&mut self, decision: &Decision) {
        assert!(self.waiting.remove(&decision.request_id), "it did not wait");
        assert!(decision.queued);
        self.placed.insert(decision.request_id, decision.candidate);
    }

    fn call(&mut self, now_ms: f64, command: &Command) -> Result<Vec<Decision>, RouterError> {
        match command {
            Command::Place(place) => self.place(now_ms, place),
            Command::Store {
                source,
                family,
                from,
                to,
            } => {
                let (local, chain) = (local(*family, *to), chain(*family, *to));
                let from = (*from).min(*to);
                let pairs = local.into_iter().zip(&chain).skip(from);
                let blocks: Vec<_> = pairs
                    .map(|(tokens_hash, &block_hash)| StoredBlock {
                        block_hash,
                        tokens_hash,
                    })
                    .collect();
                let parent_hash = from.checked_sub(1).map(|last| chain[last]);
                let event = KvEvent::Stored {
                    parent_hash,
                    blocks: &blocks,
                };
                self.router.observe(now_ms, *source, event)?;
                let stored = blocks.iter().map(|block| block.block_hash);
                self.held.entry(*source).or_default().extend(stored);
                Ok(Vec::new())
            }
            Command::Remove {
                source,
                family,
                blocks,
            } => {
                let chain = chain(*family, 12);
                let block_hashes: Vec<_> = blocks.iter().map(|&block| chain[block]).collect();
                let event = KvEvent::Removed {
                    block_hashes: &block_hashes,
                };
                self.router.observe(now_ms, *source, event)?;
                let held = self.held.entry(*source).or_default();
                block_hashes.iter().for_each(|hash| {
                    held.remove(hash);
                });
                Ok(Vec::new())
            }
            Command::Clear { source } => {
                self.router.observe(now_ms, *source, KvEvent::Cleared)?;
                self.held.remove(source);
                Ok(Vec::new())
            }
            Command::PrefillCompleted(id) => self.router.prefill_completed(now_ms, *id),
            Command::Committed(id, right, at) => {
                let placed = self.placed.get(id).copied();
                let at = if *right { placed.unwrap_or(*at) } else { *at };
                let released = self.router.dispatch_committed(now_ms, *id, at)?;
                self.placed.insert(*id, at);
                Ok(released)
            }
            Command::Aborted(id) => {
                let released = self.router.dispatch_aborted(now_ms, *id)?;
                self.placed.remove(id);
                Ok(released)
            }
            Command::Terminal(id) => {
                let released = self.router.request_terminal(now_ms, *id)?;
                self.placed.remove(id);
                self.waiting.remove(id);
                Ok(released)
            }
            Command::Cancel(id) => {
                let released = self.router.cancel(now_ms, *id)?;
                self.placed.remove(id);
                self.waiting.remove(id);
                Ok(released)
            }
            Command::OutputBlock(id, decay) => {
                self.router.add_output_block(now_ms, *id, *decay)?;
                Ok(Vec::new())
            }
            Command::Ready {
                worker: id,
                dp_size,
                tainted,
            } => self
                .router
                .worker_ready(now_ms, &worker(*id, *dp_size, *tainted)),
            Command::Draining(worker) => self.router.worker_draining(now_ms, *worker),
            Command::Fenced(worker) => self.router.worker_fenced(now_ms, *worker),
            Command::Removed(worker) => {
                let released = self.router.worker_removed(now_ms, *worker)?;
                self.placed.retain(|_, at| at.worker_id != *worker);
                self.held.retain(|source, _| source.worker_id != *worker);
                Ok(released)
            }
            Command::Overloaded(worker, on) => self.router.worker_overloaded(now_ms, *worker, *on),
            Command::Settled => self.router.topology_settled(now_ms),
            Command::Advance => self.router.advance_clock(now_ms),
        }
    }

    fn place(&mut self, now_ms: f64, place: &Place) -> Result<Vec<Decision>, RouterError> {
        let chain = chain(place.family, (place.isl / BLOCK) as usize);
        let session = format!("s{}", place.session);
        let request = PlaceRequest {
            request_id: place.id,
            isl_tokens: place.isl,
            sequence_hashes: &chain,
            priority_jump: place.priority_jump,
            strict_priority: place.strict_priority,
            due_ms: place.due_ms,
            policy_class: place.policy_class,
            session: Some(SessionIdentity {
                play: "p",
                session_id: &session,
                root: Some("s0"),
                parent: (place.session > 1).then_some("s0"),
            }),
            pinned: place.pinned,
            required_taints: if place.needs_taint { &["fast"] } else { &[] },
            expected_prefill_ms: place.expected_prefill_ms,
            ..PlaceRequest::default()
        };
        let placed = self.router.place(now_ms, &request)?;
        match placed.decision {
            Some(decision) => self.placed.insert(place.id, decision.candidate),
            None => {
                self.waiting.insert(place.id);
                None
            }
        };
        Ok(placed.released)
    }

    /// Ends everything that is live and checks that nothing is left.
    fn finish(&mut self) {
        let ids: Vec<_> = self.placed.keys().chain(&self.waiting).copied().collect();
        for id in ids {
            self.run(0.0, &Command::Terminal(id));
        }
        let ids: Vec<_> = self.placed.keys().copied().collect();
        for id in ids {
            self.run(0.0, &Command::Terminal(id));
        }
        assert_eq!((self.router.pending_count(), self.placed.len()), (0, 0));
        for load in self.router.scheduler().loads() {
            assert_eq!(
                (load.active_blocks, load.active_prefill_tokens),
                (0, 0),
                "{load:?}"
            );
        }
        for source in self.router.index().sources() {
            self.run(0.0, &Command::Clear { source });
        }
        assert!(self.router.index().is_empty());
        self.run(2000.0, &Command::Advance);
        assert_eq!(
            self.router.session_count(),
            0,
            "every binding is idle and expired"
        );
    }
}

fn worker(id: u32, dp_size: u32, tainted: bool) -> WorkerConfig {
    WorkerConfig {
        max_num_batched_tokens: Some(100),
        taints: if tainted {
            vec!["fast".into()]
        } else {
            Vec::new()
        },
        ..WorkerConfig::new(id, dp_size)
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 10_000,
        max_shrink_iters: 20_000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn random_commands_break_nothing(
        config in config(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut host = Host::new(config);
        for (dt, command) in &steps {
            host.run(*dt, command);
        }
        host.finish();
    }
}
