//! The candidates: who exists, who may be chosen, how loaded each is.

use std::collections::BTreeSet;

use super::request::{Constraint, Request};
use crate::config::{ClassConfig, DEFAULT_MAX_NUM_BATCHED_TOKENS, RouterConfig, WorkerConfig};
use crate::error::{ErrorKind, RouterError};
use crate::load::{PrefillLoad, PromptBlocks, Routed, Weight};
use crate::types::{Candidate, WorkerId};

/// One candidate and its load.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: Candidate,
    pub(crate) max_num_batched_tokens: u64,
    pub(crate) total_kv_blocks: Option<u64>,
    pub(crate) taints: BTreeSet<String>,
    pub(crate) state: MemberState,
    pub(crate) overloaded: bool,
    pub(crate) prompt: PromptBlocks,
    /// Weighted blocks that are never shared: output blocks, and prompts without reuse.
    pub(crate) private_blocks: u64,
    pub(crate) prefill: PrefillLoad,
    pub(crate) routed: Routed,
    pub(crate) active_requests: u32,
}

/// Whether a candidate takes new requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It does.
    Ready,
    /// It only finishes what it has.
    Draining,
    /// It is dead but not yet removed.
    Fenced,
}

/// The verdict on a candidate for a request, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Eligibility {
    No,
    Overloaded,
    Eligible,
}

impl Member {
    /// Active blocks, weighted.
    pub(crate) fn active_blocks(&self) -> u64 {
        Weight::blocks(self.prompt.total() + self.private_blocks)
    }

    pub(crate) fn eligibility(&self, constraint: &Constraint) -> Eligibility {
        if !self.admits(constraint) || self.state != MemberState::Ready {
            Eligibility::No
        } else if self.overloaded {
            Eligibility::Overloaded
        } else {
            Eligibility::Eligible
        }
    }

    /// Whether the constraint admits the candidate, whatever its state.
    pub(crate) fn admits(&self, constraint: &Constraint) -> bool {
        let allowed = |ids: &Vec<WorkerId>| ids.binary_search(&self.id.worker_id).is_ok();
        constraint.pin.is_none_or(|pin| {
            pin.worker_id == self.id.worker_id && pin.dp_rank.is_none_or(|r| r == self.id.dp_rank)
        }) && constraint.allowed_workers.as_ref().is_none_or(allowed)
            && constraint
                .required_taints
                .iter()
                .all(|taint| self.taints.contains(taint))
    }
}

/// All candidates, sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fleet {
    members: Vec<Member>,
}

impl Fleet {
    /// Adds every rank of a worker.
    pub(crate) fn add(&mut self, worker: &WorkerConfig) -> Result<(), RouterError> {
        worker.validate()?;
        if self
            .members
            .iter()
            .any(|member| member.id.worker_id == worker.worker_id)
        {
            return Err(RouterError::new(
                ErrorKind::DuplicateWorker,
                "worker_id",
                worker.worker_id,
                "a worker that is not present; remove it first",
            ));
        }
        for dp_rank in worker.dp_start..worker.dp_start + worker.dp_size {
            self.members.push(Member {
                id: Candidate::new(worker.worker_id, dp_rank),
                max_num_batched_tokens: worker
                    .max_num_batched_tokens
                    .unwrap_or(DEFAULT_MAX_NUM_BATCHED_TOKENS),
                taints: worker.taints.iter().cloned().collect(),
                state: MemberState::Ready,
                overloaded: false,
                prompt: PromptBlocks::default(),
                private_blocks: 0,
                prefill: PrefillLoad::default(),
                routed: Routed::default(),
                total_kv_blocks: worker.total_kv_blocks,
                active_requests: 0,
            });
        }
        self.members.sort_unstable_by_key(|member| member.id);
        Ok(())
    }

    /// Removes every rank of a worker.
    pub(crate) fn remove(&mut self, worker_id: WorkerId) {
        self.members
            .retain(|member| member.id.worker_id != worker_id);
    }

    /// Refuses a worker that is not present.
    pub(crate) fn known(&self, worker_id: WorkerId) -> Result<(), RouterError> {
        if self
            .members
            .iter()
            .any(|member| member.id.worker_id == worker_id)
        {
            return Ok(());
        }
        Err(RouterError::new(
            ErrorKind::UnknownWorker,
            "worker_id",
            worker_id,
            "a worker that was added and not removed",
        ))
    }

    /// Refuses a candidate that is not present.
    pub(crate) fn known_candidate(&self, id: Candidate) -> Result<(), RouterError> {
        if self.position(id).is_some() {
            return Ok(());
        }
        Err(RouterError::new(
            ErrorKind::UnknownWorker,
            "candidate",
            id,
            "a rank of a worker that was added and not removed",
        ))
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn members_mut(&mut self) -> &mut [Member] {
        &mut self.members
    }

    pub(crate) fn of_worker(&mut self, worker_id: WorkerId) -> impl Iterator<Item = &mut Member> {
        self.members
            .iter_mut()
            .filter(move |member| member.id.worker_id == worker_id)
    }

    pub(crate) fn position(&self, id: Candidate) -> Option<usize> {
        self.members
            .binary_search_by_key(&id, |member| member.id)
            .ok()
    }

    pub(crate) fn get(&self, id: Candidate) -> Option<&Member> {
        self.position(id).map(|position| &self.members[position])
    }

    pub(crate) fn get_mut(&mut self, id: Candidate) -> Option<&mut Member> {
        self.position(id)
            .map(|position| &mut self.members[position])
    }

    /// Whether any candidate takes new requests.
    pub(crate) fn takes_requests(&self) -> bool {
        self.members
            .iter()
            .any(|member| member.state == MemberState::Ready)
    }

    /// The refusal when no candidate is eligible.
    pub(crate) fn refusal(&self, request: &Request) -> RouterError {
        let constraint = &request.constraint;
        let overloaded = self
            .members
            .iter()
            .any(|member| member.eligibility(constraint) == Eligibility::Overloaded);
        let Some(pin) = constraint.pin else {
            let (kind, expected) = if overloaded {
                (
                    ErrorKind::AllOverloaded,
                    "an eligible worker that is not overloaded",
                )
            } else {
                (
                    ErrorKind::NoEndpoints,
                    "a worker that its constraints admit",
                )
            };
            return RouterError::new(kind, "request_id", request.id, expected);
        };
        let (kind, expected) = if overloaded {
            (
                ErrorKind::PinnedOverloaded,
                "a pinned worker that is not overloaded",
            )
        } else if constraint
            .allowed_workers
            .as_ref()
            .is_some_and(|a| !a.contains(&pin.worker_id))
        {
            (
                ErrorKind::PinnedNotAllowed,
                "a pinned worker in the allowed set",
            )
        } else {
            (
                ErrorKind::NoEndpoints,
                "a pinned worker and rank that exist and take requests",
            )
        };
        let rank = pin
            .dp_rank
            .map_or_else(|| "any rank".into(), |rank| format!("rank {rank}"));
        RouterError::new(
            kind,
            "pinned",
            format!("(worker {}, {rank})", pin.worker_id),
            expected,
        )
    }
}

/// What the thresholds of a class make of the candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BusyRule {
    pub(crate) tokens: Option<u64>,
    pub(crate) fraction: Option<f64>,
    pub(crate) worker_ratio: Option<f64>,
}

impl BusyRule {
    /// The rule of a class: its own thresholds, or else the router's.
    pub(crate) fn of(config: &RouterConfig, class: &ClassConfig) -> Self {
        let (tokens, fraction) = (
            class.prefill_busy_threshold,
            class.prefill_busy_threshold_frac,
        );
        let inherits = tokens.is_none() && fraction.is_none();
        Self {
            tokens,
            fraction: if inherits {
                config.router_queue_threshold
            } else {
                fraction
            },
            worker_ratio: class.busy_worker_ratio,
        }
    }

    /// The most active prefill tokens with which the candidate is not busy.
    pub(crate) fn limit(&self, member: &Member) -> u64 {
        let fraction = self
            .fraction
            .map(|f| (f * member.max_num_batched_tokens as f64) as u64);
        self.tokens
            .unwrap_or(u64::MAX)
            .min(fraction.unwrap_or(u64::MAX))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.tokens.is_some() || self.fraction.is_some()
    }

    /// Whether the candidates that the constraint admits are too busy for another request.
    pub(crate) fn pool_is_busy(&self, fleet: &Fleet, constraint: &Constraint, now_ms: f64) -> bool {
        if !self.is_on() {
            return false;
        }
        let (mut eligible, mut busy) = (0u32, 0u32);
        for member in fleet.members() {
            if member.eligibility(constraint) == Eligibility::Eligible {
                eligible += 1;
                busy += u32::from(member.prefill.tokens(now_ms) > self.limit(member));
            }
        }
        match self.worker_ratio {
            _ if eligible == 0 => false,
            None => busy == eligible,
            Some(ratio) => f64::from(busy) >= ratio * f64::from(eligible),
        }
    }
}
