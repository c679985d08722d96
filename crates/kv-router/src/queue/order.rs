//! The order of waiters inside a lane.

use std::cmp::{Ordering, Reverse};

use crate::config::QueuePolicy;
use crate::scheduler::Waiter;

/// A float with the total order of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Total(pub(super) f64);

impl Eq for Total {}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Place of a waiter in its lane, least first: strict priority, due time, policy score, arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    strict_priority: Reverse<i32>,
    due_ms: Total,
    score: Reverse<Total>,
    arrival: u64,
}

impl Rank {
    pub(super) fn of(policy: QueuePolicy, waiter: &Waiter) -> Self {
        let request = &waiter.request;
        let (jump, arrival_secs) = (request.priority_jump, waiter.arrival_ms / 1000.0);
        let score = match policy {
            QueuePolicy::Fcfs => jump.max(0.0) - arrival_secs,
            QueuePolicy::Lcfs => jump + arrival_secs,
            QueuePolicy::Wspt => (1.0 + jump) / waiter.cost() as f64,
        };
        Self {
            strict_priority: Reverse(request.strict_priority),
            due_ms: Total(request.due_ms.unwrap_or(f64::INFINITY)),
            score: Reverse(Total(score)),
            arrival: waiter.arrival,
        }
    }

    /// The same waiter by age alone, inside its strict priority.
    pub(super) fn by_age(self) -> (Reverse<i32>, u64) {
        (self.strict_priority, self.arrival)
    }
}
