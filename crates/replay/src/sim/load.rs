//! When requests arrive: by the trace's clock, or as sessions get free slots.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::config::LoadConfig;
use crate::time::Nanos;
use crate::trace::Trace;

/// The arrivals that are still to come.
#[derive(Debug)]
pub(super) struct Load {
    /// First turns in the order in which they start, last one first.
    starts: Vec<u32>,
    /// Arrivals whose time is known, beside the next start.
    due: BinaryHeap<Reverse<(Nanos, u32)>>,
    speedup: f64,
    by_slots: bool,
}

impl Load {
    pub(super) fn new(trace: &Trace, config: &LoadConfig) -> Self {
        let turns = trace.requests.iter().enumerate();
        let mut starts: Vec<u32> = turns
            .filter(|(_, request)| request.turn == 0)
            .map(|(index, _)| index as u32)
            .collect();
        // Stable: equal times keep the order of the file.
        starts.sort_by_key(|&index| trace.requests[index as usize].at);
        starts.reverse();
        let mut load = Self {
            starts,
            due: BinaryHeap::new(),
            speedup: config.speedup,
            by_slots: config.concurrency.is_some(),
        };
        for _ in 0..config.concurrency.unwrap_or(0) {
            load.start_session(0);
        }
        load
    }

    /// Time of the next arrival.
    pub(super) fn next_time(&self, trace: &Trace) -> Option<Nanos> {
        let due = self.due.peek().map(|&Reverse((at, _))| at);
        let start = self.next_start(trace).map(|(at, _)| at);
        match (due, start) {
            (Some(due), Some(start)) => Some(due.min(start)),
            (due, start) => due.or(start),
        }
    }

    /// Takes the next arrival that is due by `now`; equal times come in the order of the file.
    pub(super) fn pop(&mut self, trace: &Trace, now: Nanos) -> Option<u32> {
        let due = self.due.peek().map(|&Reverse(due)| due);
        let start = self.next_start(trace);
        let next = match (due, start) {
            (Some(due), Some(start)) => due.min(start),
            (due, start) => due.or(start)?,
        };
        if next.0 > now {
            return None;
        }
        if due == Some(next) {
            self.due.pop();
        } else {
            self.starts.pop();
        }
        Some(next.1)
    }

    /// A request is over: its session goes on after the think time, or its slot is free.
    pub(super) fn ended(&mut self, trace: &Trace, request: u32, now: Nanos) {
        match trace.requests[request as usize].next_turn {
            Some(next) => {
                let delay = self.scaled(trace.requests[next as usize].delay);
                self.due.push(Reverse((now.saturating_add(delay), next)));
            }
            None if self.by_slots => self.start_session(now),
            None => {}
        }
    }

    fn start_session(&mut self, now: Nanos) {
        if let Some(index) = self.starts.pop() {
            self.due.push(Reverse((now, index)));
        }
    }

    fn next_start(&self, trace: &Trace) -> Option<(Nanos, u32)> {
        if self.by_slots {
            return None;
        }
        let &index = self.starts.last()?;
        Some((self.scaled(trace.requests[index as usize].at), index))
    }

    fn scaled(&self, span: Nanos) -> Nanos {
        if self.speedup == 1.0 {
            span
        } else {
            (span as f64 / self.speedup).round() as Nanos
        }
    }
}
