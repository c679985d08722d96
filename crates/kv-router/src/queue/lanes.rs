//! Lanes: waiters with equal constraints, so that the head of a lane is blocked only when all of
//! the lane is.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::order::Rank;
use crate::scheduler::Constraint;
use crate::types::{Candidate, RequestId, WorkerId};

/// Names a lane: it follows from the constraint of its waiters and from nothing else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LaneKey {
    /// Waiters that any candidate will do for.
    Any,
    /// Waiters with some other constraint.
    Custom(Constraint),
    /// Waiters for any rank of one worker.
    Worker(WorkerId),
    /// Waiters for one candidate.
    Exact(Candidate),
}

impl LaneKey {
    pub(crate) fn of(constraint: &Constraint) -> Self {
        let Constraint {
            pin,
            allowed_workers,
            required_taints,
        } = constraint;
        match pin {
            _ if allowed_workers.is_some() || !required_taints.is_empty() => {
                Self::Custom(constraint.clone())
            }
            None => Self::Any,
            Some(pin) => match pin.dp_rank {
                None => Self::Worker(pin.worker_id),
                Some(rank) => Self::Exact(Candidate::new(pin.worker_id, rank)),
            },
        }
    }
}

/// Strict priority and arrival.
type Age = (Reverse<i32>, u64);

/// The waiters of one lane and one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    ranked: BTreeMap<Rank, RequestId>,
    /// The same waiters by age; kept for policies that need ageing.
    aged: Option<BTreeMap<Age, (RequestId, f64)>>,
}

impl Lane {
    pub(super) fn new(ages: bool) -> Self {
        Self {
            ranked: BTreeMap::new(),
            aged: ages.then(BTreeMap::new),
        }
    }

    pub(super) fn insert(&mut self, rank: Rank, id: RequestId, arrival_ms: f64) {
        self.ranked.insert(rank, id);
        if let Some(aged) = &mut self.aged {
            aged.insert(rank.by_age(), (id, arrival_ms));
        }
    }

    pub(super) fn remove(&mut self, rank: Rank) {
        self.ranked.remove(&rank);
        if let Some(aged) = &mut self.aged {
            aged.remove(&rank.by_age());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranked.is_empty()
    }

    /// Who goes next: the oldest of the highest strict priority once it waited since
    /// `overdue_ms` or longer, else the first by rank.
    pub(super) fn head(&self, overdue_ms: f64) -> Option<RequestId> {
        let oldest = self.aged.as_ref().and_then(|aged| aged.first_key_value());
        if let Some((_, (id, arrival_ms))) = oldest
            && *arrival_ms <= overdue_ms
        {
            return Some(*id);
        }
        self.ranked.first_key_value().map(|(_, id)| *id)
    }

    /// All waiters, first to last.
    pub(super) fn ids(&self) -> impl Iterator<Item = RequestId> {
        self.ranked.values().copied()
    }
}
