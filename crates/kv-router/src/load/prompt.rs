//! Active prompt blocks of one candidate, shared between its requests.
//!
//! Requests hold whole prefixes, so what they hold together is a tree of chains. It is kept
//! compressed: a segment is a run of blocks with the same holders. Sequence hashes bind their
//! prefix, so two chains agree up to one point and differ after it, and that point is found by
//! bisection: a request costs a few probes a segment, not one a block. Hashes that are not
//! chained are counted wrongly, but never break the tree.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Weight of a block in fixed point, so that sums are exact and return to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight(u64);

const SCALE: u64 = 1 << 20;

impl Weight {
    pub(crate) const FULL: Self = Self(SCALE);

    /// The weight nearest to `fraction`, which is in 0..=1.
    pub(crate) fn of(fraction: f64) -> Self {
        Self((fraction * SCALE as f64).round() as u64)
    }

    /// `blocks` blocks of this weight.
    pub(crate) fn times(self, blocks: u64) -> u64 {
        self.0 * blocks
    }

    /// Whole blocks nearest to a sum of weights; halves round up.
    pub(crate) fn blocks(sum: u64) -> u64 {
        (sum + SCALE / 2) / SCALE
    }
}

/// A run of blocks with the same holders.
#[derive(Clone, Debug)]
struct Segment {
    chain: Arc<[u64]>,
    start: usize,
    end: usize,
    parent: Option<usize>,
    /// The latest time until which a holder wants it, ms.
    until_ms: f64,
    holders: u32,
    /// Exclusive or of the holders' numbers: the holder itself when there is one.
    holder_xor: u32,
}

impl Segment {
    fn blocks(&self) -> u64 {
        (self.end - self.start) as u64
    }

    fn key(&self) -> (Option<usize>, u64) {
        (self.parent, self.chain[self.start])
    }
}

/// The tree of active prompt blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptBlocks {
    segments: Vec<Segment>,
    free: Vec<usize>,
    /// The segment behind another one (or at the start) by its first hash.
    children: FxHashMap<(Option<usize>, u64), usize>,
    /// Per holder number: its last segment and the weight of blocks that only it holds.
    holders: Vec<Option<(usize, Weight)>>,
    free_holders: Vec<u32>,
    /// Weighted sum over all blocks.
    total: u64,
}

impl PromptBlocks {
    /// Weighted sum over all active blocks.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    #[cfg(test)]
    pub(crate) fn distinct_blocks(&self) -> usize {
        let live = self.segments.iter().filter(|segment| segment.holders > 0);
        live.map(|segment| segment.end - segment.start).sum()
    }

    /// Number of leading blocks of `chain` that are active.
    pub(crate) fn shared(&self, chain: &[u64]) -> usize {
        self.shared_at(f64::NEG_INFINITY, chain)
    }

    /// Number of leading blocks of `chain` that a holder wants beyond `now_ms`.
    pub(crate) fn shared_at(&self, now_ms: f64, chain: &[u64]) -> usize {
        let (mut depth, mut parent) = (0, None);
        while let Some(&hash) = chain.get(depth)
            && let Some(&child) = self.children.get(&(parent, hash))
            && self.segments[child].until_ms > now_ms
        {
            parent = Some(child);
            let segment = &self.segments[child];
            let common = common_prefix(&segment.chain[segment.start..segment.end], &chain[depth..]);
            depth += common;
            if (common as u64) < segment.blocks() {
                break;
            }
        }
        depth
    }

    /// Adds a holder of all blocks of `chain` (not empty), which it wants until `until_ms`, at
    /// full weight; gives its number.
    pub(crate) fn add(&mut self, chain: &Arc<[u64]>, until_ms: f64) -> u32 {
        let holder = self.free_holders.pop().unwrap_or_else(|| {
            self.holders.push(None);
            (self.holders.len() - 1) as u32
        });
        let (mut depth, mut parent) = (0, None);
        while depth < chain.len() {
            let segment = match self.children.get(&(parent, chain[depth])).copied() {
                None => self.insert(Segment {
                    chain: Arc::clone(chain),
                    start: depth,
                    end: chain.len(),
                    parent,
                    until_ms,
                    holders: 0,
                    holder_xor: 0,
                }),
                Some(found) => {
                    let segment = &self.segments[found];
                    let run = &segment.chain[segment.start..segment.end];
                    let common = common_prefix(run, &chain[depth..]);
                    if common < run.len() {
                        self.split(found, common)
                    } else {
                        found
                    }
                }
            };
            self.weigh(segment, false);
            let entry = &mut self.segments[segment];
            entry.holders += 1;
            entry.holder_xor ^= holder;
            entry.until_ms = entry.until_ms.max(until_ms);
            depth += entry.end - entry.start;
            parent = Some(segment);
        }
        let last = parent.expect("the chain is not empty");
        self.holders[holder as usize] = Some((last, Weight::FULL));
        self.each_up(last, |blocks, segment| blocks.weigh(segment, true));
        holder
    }

    /// Removes the holder and every block that only it held.
    pub(crate) fn remove(&mut self, holder: u32) {
        let (last, _) = self.holders[holder as usize].expect("a holder is removed once");
        self.each_up(last, |blocks, segment| {
            blocks.weigh(segment, false);
            let entry = &mut blocks.segments[segment];
            entry.holders -= 1;
            entry.holder_xor ^= holder;
            if entry.holders == 0 {
                let key = entry.key();
                entry.chain = Arc::default();
                (entry.start, entry.end) = (0, 0);
                blocks.children.remove(&key);
                blocks.free.push(segment);
            }
        });
        self.holders[holder as usize] = None;
        self.free_holders.push(holder);
        // What is left counts again, with whoever is alone in it now.
        let mut next = Some(last);
        while let Some(segment) = next {
            next = self.segments[segment].parent;
            if self.segments[segment].holders > 0 {
                self.weigh(segment, true);
            }
        }
    }

    /// Sets the weight of the blocks that only `holder` holds.
    pub(crate) fn set_weight(&mut self, holder: u32, weight: Weight) {
        let (last, _) = self.holders[holder as usize].expect("the holder is live");
        self.each_up(last, |blocks, segment| blocks.weigh(segment, false));
        self.holders[holder as usize] = Some((last, weight));
        self.each_up(last, |blocks, segment| blocks.weigh(segment, true));
    }

    /// Adds the weight of a segment to the total, or takes it off.
    fn weigh(&mut self, segment: usize, add: bool) {
        let entry = &self.segments[segment];
        let weight = match entry.holders {
            0 => return,
            1 => {
                self.holders[entry.holder_xor as usize]
                    .expect("holders are live")
                    .1
            }
            _ => Weight::FULL,
        };
        let weight = weight.times(entry.blocks());
        self.total = if add {
            self.total + weight
        } else {
            self.total - weight
        };
    }

    fn each_up(&mut self, last: usize, mut visit: impl FnMut(&mut Self, usize)) {
        let mut next = Some(last);
        while let Some(segment) = next {
            next = self.segments[segment].parent;
            visit(self, segment);
        }
    }

    /// Cuts a segment in two behind `common` blocks; gives the upper half. The lower half keeps
    /// the number, since the holders that end in the segment end there.
    fn split(&mut self, segment: usize, common: usize) -> usize {
        let lower = &mut self.segments[segment];
        let upper = Segment {
            end: lower.start + common,
            ..lower.clone()
        };
        lower.start += common;
        let upper = self.insert(upper);
        let lower = &mut self.segments[segment];
        lower.parent = Some(upper);
        self.children.insert(lower.key(), segment);
        upper
    }

    fn insert(&mut self, segment: Segment) -> usize {
        let index = self.free.pop().unwrap_or(self.segments.len());
        self.children.insert(segment.key(), index);
        if index == self.segments.len() {
            self.segments.push(segment);
        } else {
            self.segments[index] = segment;
        }
        index
    }
}

/// Length of the common prefix of two runs of chained hashes: equal hashes at one place mean
/// equal hashes before it.
fn common_prefix(a: &[u64], b: &[u64]) -> usize {
    let (mut low, mut high) = (0, a.len().min(b.len()));
    if high > 0 && a[high - 1] == b[high - 1] {
        return high;
    }
    while low < high {
        let middle = (low + high) / 2;
        if a[middle] == b[middle] {
            low = middle + 1
        } else {
            high = middle
        }
    }
    low
}
