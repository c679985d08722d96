//! What a replay writes down while it runs: one record a request, the gaps between tokens, totals.

use crate::engine::{PassWork, Refusal};
use crate::time::Nanos;

/// A time that never came.
pub const NEVER: Nanos = Nanos::MAX;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has not arrived, or the replay ended first.
    Pending,
    /// It got all its tokens.
    Completed,
    /// It could never fit on a worker.
    Rejected(Refusal),
}

/// What happened to one request. Times are [`NEVER`] until they are known.
#[derive(Clone, Debug)]
pub struct Record {
    /// When it arrived.
    pub arrival: Nanos,
    /// When a worker admitted it first.
    pub first_admit: Nanos,
    /// First token.
    pub first_token: Nanos,
    /// Second token.
    pub second_token: Nanos,
    /// Last token.
    pub last_token: Nanos,
    /// When it was over.
    pub terminal: Nanos,
    /// Tokens generated.
    pub output: u32,
    /// Prompt tokens found in the cache at the first admission.
    pub first_reused: u32,
    /// The same, largest over all admissions.
    pub max_reused: u32,
    /// How often it was admitted.
    pub admissions: u32,
    /// The worker that got it.
    pub worker: u32,
    /// The rank of that worker.
    pub dp_rank: u32,
    /// Prefix blocks that the chosen worker held, as the router saw it.
    pub overlap_blocks: u32,
    /// The longest prefix that any worker held, as the router saw it.
    pub best_overlap_blocks: u32,
    /// When the router placed it.
    pub placed: Nanos,
    /// How it ended.
    pub status: Status,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            arrival: NEVER,
            first_admit: NEVER,
            first_token: NEVER,
            second_token: NEVER,
            last_token: NEVER,
            terminal: NEVER,
            output: 0,
            first_reused: 0,
            max_reused: 0,
            admissions: 0,
            worker: 0,
            dp_rank: 0,
            overlap_blocks: 0,
            best_overlap_blocks: 0,
            placed: NEVER,
            status: Status::Pending,
        }
    }
}

/// An admission after a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readmission {
    /// The request.
    pub request: u32,
    /// When.
    pub at: Nanos,
    /// Prompt tokens found in the cache.
    pub reused: u32,
}

/// Everything that a replay writes down.
#[derive(Debug)]
pub struct Ledger {
    /// One for each request of the trace, in file order.
    pub records: Vec<Record>,
    /// Admissions after the first, in order of time for each request.
    pub readmissions: Vec<Readmission>,
    /// Gaps between consecutive tokens of the same request, over all requests.
    pub gaps: Gaps,
    /// Prompt tokens that passes computed, recomputation included.
    pub prefill_tokens: u64,
    /// Forward passes.
    pub passes: u64,
    /// Those among them whose time no measurement covers.
    pub extrapolated: Extrapolated,
}

/// Forward passes whose time no measurement covers.
#[derive(Debug, Default)]
pub struct Extrapolated {
    /// Their number.
    pub passes: u64,
    /// What the first of them computed.
    pub first: Option<PassWork>,
}

impl Extrapolated {
    /// Counts one.
    pub fn add(&mut self, work: PassWork) {
        self.passes += 1;
        self.first.get_or_insert(work);
    }
}

impl Ledger {
    /// An empty ledger for `requests` requests.
    pub fn new(requests: usize) -> Self {
        Self {
            records: vec![Record::default(); requests],
            readmissions: Vec::new(),
            gaps: Gaps::default(),
            prefill_tokens: 0,
            passes: 0,
            extrapolated: Extrapolated::default(),
        }
    }

    /// Writes down an admission.
    pub fn admitted(&mut self, request: u32, at: Nanos, reused: u32) {
        let record = &mut self.records[request as usize];
        record.admissions += 1;
        record.max_reused = record.max_reused.max(reused);
        if record.admissions == 1 {
            record.first_admit = at;
            record.first_reused = reused;
        } else {
            self.readmissions.push(Readmission {
                request,
                at,
                reused,
            });
        }
    }
}

/// A multiset of time spans that keeps every value exactly.
///
/// Equal values are merged whenever the list has doubled, so that it grows with the number of
/// different values, not with the number of passes.
#[derive(Debug, Default)]
pub struct Gaps {
    values: Vec<(Nanos, u64)>,
    merged: usize,
}

impl Gaps {
    const SMALLEST_MERGE: usize = 1 << 20;

    /// Adds `count` spans of the same length.
    #[inline]
    pub fn add(&mut self, gap: Nanos, count: u32) {
        if count == 0 {
            return;
        }
        if self.values.len() >= (2 * self.merged).max(Self::SMALLEST_MERGE) {
            self.merge();
        }
        self.values.push((gap, u64::from(count)));
    }

    /// The different values in rising order, each with its count.
    pub fn sorted(&mut self) -> &[(Nanos, u64)] {
        self.merge();
        &self.values
    }

    fn merge(&mut self) {
        self.values.sort_unstable_by_key(|&(gap, _)| gap);
        self.values.dedup_by(|next, kept| {
            let equal = next.0 == kept.0;
            if equal {
                kept.1 += next.1;
            }
            equal
        });
        self.merged = self.values.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_keep_every_value_and_merge_equal_ones() {
        let mut gaps = Gaps::default();
        for (gap, count) in [(5, 2), (3, 1), (5, 4), (9, 0)] {
            gaps.add(gap, count);
        }
        assert_eq!(gaps.sorted(), [(3, 1), (5, 6)]);
    }

    #[test]
    fn a_long_run_of_equal_gaps_takes_constant_memory() {
        let mut gaps = Gaps::default();
        for pass in 0..3 * Gaps::SMALLEST_MERGE as u64 {
            gaps.add(1000 + pass % 7, 1);
        }
        assert!(gaps.values.capacity() <= 2 * Gaps::SMALLEST_MERGE);
        assert_eq!(gaps.sorted().len(), 7);
    }

    #[test]
    fn the_first_admission_and_the_largest_reuse_are_kept_apart() {
        let mut ledger = Ledger::new(1);
        ledger.admitted(0, 7, 16);
        ledger.admitted(0, 9, 48);
        ledger.admitted(0, 11, 32);
        let record = &ledger.records[0];
        assert_eq!(
            (record.first_reused, record.max_reused, record.admissions),
            (16, 48, 3)
        );
        assert_eq!(record.first_admit, 7);
        assert_eq!(ledger.readmissions.len(), 2);
    }
}
