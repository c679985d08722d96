//! The JSON form of the host protocol, for hosts in other languages.
//!
//! A command is an object with `command`, the name of a method of [`OfflineRouter`], and its
//! arguments. The answer is an object: `{"released": […]}` with the placements, `decision` beside
//! it for `place`, or the value asked for; or `{"error": {…}}` with `kind`, `field`, `value`,
//! `expected` and `message`.

mod request;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::{RouterConfig, WorkerConfig};
use crate::error::{ErrorKind, RouterError};
use crate::index::{KvEvent, StoredBlock};
use crate::router::OfflineRouter;
use crate::types::{Candidate, DpRank, RequestId, WorkerId};
pub use request::{RequestSpec, SessionSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    #[serde(default)]
    config: RouterConfig,
    #[serde(default)]
    workers: Vec<WorkerConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    Place {
        now_ms: f64,
        request: Box<RequestSpec>,
    },
    Observe {
        now_ms: f64,
        worker_id: WorkerId,
        dp_rank: DpRank,
        event: Event,
    },
    PrefillCompleted {
        now_ms: f64,
        request_id: RequestId,
    },
    AddOutputBlock {
        now_ms: f64,
        request_id: RequestId,
        decay_fraction: Option<f64>,
    },
    DispatchCommitted {
        now_ms: f64,
        request_id: RequestId,
        worker_id: WorkerId,
        dp_rank: DpRank,
    },
    DispatchAborted {
        now_ms: f64,
        request_id: RequestId,
    },
    RequestTerminal {
        now_ms: f64,
        request_id: RequestId,
    },
    Cancel {
        now_ms: f64,
        request_id: RequestId,
    },
    WorkerReady {
        now_ms: f64,
        worker: WorkerConfig,
    },
    WorkerDraining {
        now_ms: f64,
        worker_id: WorkerId,
    },
    WorkerFenced {
        now_ms: f64,
        worker_id: WorkerId,
    },
    WorkerOverloaded {
        now_ms: f64,
        worker_id: WorkerId,
        overloaded: bool,
    },
    WorkerRemoved {
        now_ms: f64,
        worker_id: WorkerId,
    },
    TopologySettled {
        now_ms: f64,
    },
    AdvanceClock {
        now_ms: f64,
    },
    NextWakeupMs {},
    PendingCount {},
    Loads {},
    Evidence {},
    StateDigest {},
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Event {
    Stored {
        parent_hash: Option<u64>,
        blocks: Vec<Block>,
    },
    Removed {
        block_hashes: Vec<u64>,
    },
    Cleared {},
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    block_hash: u64,
    tokens_hash: u64,
}

fn parse<'a, T: Deserialize<'a>>(what: &str, text: &'a str) -> Result<T, RouterError> {
    serde_json::from_str(text).map_err(|error| {
        let expected = format!("JSON of a {what}");
        RouterError::new(ErrorKind::InvalidCommand, what, error, expected)
    })
}

impl OfflineRouter {
    /// A router from `{"config": {…}, "workers": […]}`; both may be left out.
    ///
    /// # Errors
    /// `InvalidCommand` for text that is not such JSON; else as [`OfflineRouter::new`].
    pub fn from_json(text: &str) -> Result<Self, RouterError> {
        let Setup { config, workers } = parse("setup", text)?;
        Self::new(config, &workers)
    }

    /// Carries out one JSON command; gives its JSON answer.
    pub fn command(&mut self, text: &str) -> String {
        let answer = parse("command", text).and_then(|command| self.carry_out(command));
        let answer = answer.unwrap_or_else(|error| {
            json!({"error": {
                "kind": error.kind().as_str(),
                "field": error.field(),
                "value": error.value(),
                "expected": error.expected(),
                "message": error.to_string(),
            }})
        });
        answer.to_string()
    }

    fn carry_out(&mut self, command: Command) -> Result<Value, RouterError> {
        let released = match command {
            Command::Place { now_ms, request } => {
                let placed = request
                    .complete()?
                    .with(|request| self.place(now_ms, request))?;
                return Ok(json!(placed));
            }
            Command::Observe {
                now_ms,
                worker_id,
                dp_rank,
                event,
            } => {
                let source = Candidate::new(worker_id, dp_rank);
                self.observe_owned(now_ms, source, &event)?;
                Vec::new()
            }
            Command::PrefillCompleted { now_ms, request_id } => {
                self.prefill_completed(now_ms, request_id)?
            }
            Command::AddOutputBlock {
                now_ms,
                request_id,
                decay_fraction,
            } => {
                self.add_output_block(now_ms, request_id, decay_fraction)?;
                Vec::new()
            }
            Command::DispatchCommitted {
                now_ms,
                request_id,
                worker_id,
                dp_rank,
            } => self.dispatch_committed(now_ms, request_id, Candidate::new(worker_id, dp_rank))?,
            Command::DispatchAborted { now_ms, request_id } => {
                self.dispatch_aborted(now_ms, request_id)?
            }
            Command::RequestTerminal { now_ms, request_id } => {
                self.request_terminal(now_ms, request_id)?
            }
            Command::Cancel { now_ms, request_id } => self.cancel(now_ms, request_id)?,
            Command::WorkerReady { now_ms, worker } => self.worker_ready(now_ms, &worker)?,
            Command::WorkerDraining { now_ms, worker_id } => {
                self.worker_draining(now_ms, worker_id)?
            }
            Command::WorkerFenced { now_ms, worker_id } => self.worker_fenced(now_ms, worker_id)?,
            Command::WorkerOverloaded {
                now_ms,
                worker_id,
                overloaded,
            } => self.worker_overloaded(now_ms, worker_id, overloaded)?,
            Command::WorkerRemoved { now_ms, worker_id } => {
                self.worker_removed(now_ms, worker_id)?
            }
            Command::TopologySettled { now_ms } => self.topology_settled(now_ms)?,
            Command::AdvanceClock { now_ms } => self.advance_clock(now_ms)?,
            Command::NextWakeupMs {} => {
                return Ok(json!({"next_wakeup_ms": self.next_wakeup_ms()}));
            }
            Command::PendingCount {} => return Ok(json!({"pending_count": self.pending_count()})),
            Command::Loads {} => return Ok(json!({"loads": self.scheduler().loads()})),
            Command::Evidence {} => return Ok(json!({"evidence": self.evidence()})),
            Command::StateDigest {} => return Ok(json!({"state_digest": self.state_digest()})),
        };
        Ok(json!({"released": released}))
    }

    fn observe_owned(
        &mut self,
        now_ms: f64,
        source: Candidate,
        event: &Event,
    ) -> Result<(), RouterError> {
        match event {
            Event::Stored {
                parent_hash,
                blocks,
            } => {
                let blocks = blocks.iter().map(|block| StoredBlock {
                    block_hash: block.block_hash,
                    tokens_hash: block.tokens_hash,
                });
                let blocks: Vec<_> = blocks.collect();
                let event = KvEvent::Stored {
                    parent_hash: *parent_hash,
                    blocks: &blocks,
                };
                self.observe(now_ms, source, event)
            }
            Event::Removed { block_hashes } => {
                self.observe(now_ms, source, KvEvent::Removed { block_hashes })
            }
            Event::Cleared {} => self.observe(now_ms, source, KvEvent::Cleared),
        }
    }
}
