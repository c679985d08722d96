//! The paged, prefix-cached KV cache of one worker, in whole blocks.
//!
//! Prompts are paths through a tree of *nodes*, each a stretch of blocks with known content. What
//! a worker holds of a node is always a prefix of it, because every prompt that touches a block
//! touches all blocks before it, and because eviction takes the end first. So the cache keeps, for
//! each node, how many of its blocks are resident and how many of those are held, and handles
//! stretches instead of blocks.
//!
//! A block is blank (no content), loose (content that no other prompt can match: the open block at
//! the end of a sequence, or a second copy), held (in a node, used by running requests) or cached
//! (in a node, used by none, evictable).

use rustc_hash::FxHashMap;

use super::lru::{Index, Lru, NONE};

/// Identity of a stretch of content.
pub type NodeId = u32;

/// The first `blocks` blocks of a node, as a part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The node.
    pub node: NodeId,
    /// Blocks of it that the prompt has, at least 1.
    pub blocks: u32,
}

/// A change of what later prompts can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheEvent {
    /// Whether the blocks came or went.
    pub kind: CacheEventKind,
    /// The node.
    pub node: NodeId,
    /// First block of the node that changed.
    pub low: u32,
    /// One past the last.
    pub high: u32,
}

/// Whether blocks came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheEventKind {
    /// The blocks can be matched from now on.
    Stored,
    /// The blocks were evicted.
    Removed,
}

/// What a prompt finds in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Blocks from the start of the prompt that are resident.
    pub blocks: u32,
    /// Those among them that are evictable until they are held.
    pub evictable: u32,
}

#[derive(Debug)]
struct Node {
    id: NodeId,
    /// Blocks from the start that have content.
    resident: u32,
    /// The longest hold; [`NONE`] = no hold. Holds are linked, longest first.
    holds: Index,
    /// The run nearest to the start; [`NONE`] = nothing is evictable.
    runs: Index,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    blocks: u32,
    holders: u32,
    shorter: Index,
}

/// The KV cache of one worker.
#[derive(Debug)]
pub struct KvCache {
    blank: u32,
    evictable: u32,
    slot_of: FxHashMap<NodeId, Index>,
    nodes: Vec<Node>,
    spare_nodes: Vec<Index>,
    holds: Vec<Hold>,
    spare_holds: Vec<Index>,
    lru: Lru,
    events: Option<Vec<CacheEvent>>,
}

impl KvCache {
    /// An empty cache. `with_events`: keep a log of what came and went.
    pub fn new(blocks: u32, with_events: bool) -> Self {
        Self {
            blank: blocks,
            evictable: 0,
            slot_of: FxHashMap::default(),
            nodes: Vec::new(),
            spare_nodes: Vec::new(),
            holds: Vec::new(),
            spare_holds: Vec::new(),
            lru: Lru::new(),
            events: with_events.then(Vec::new),
        }
    }

    /// Blocks that [`KvCache::take`] could give.
    pub fn available(&self) -> u32 {
        self.blank + self.evictable
    }

    /// The log of changes since it was last cleared; empty when no log is kept.
    pub fn events(&self) -> &[CacheEvent] {
        self.events.as_deref().unwrap_or(&[])
    }

    /// Empties the log.
    pub fn clear_events(&mut self) {
        if let Some(events) = &mut self.events {
            events.clear();
        }
    }

    /// Longest resident prefix of a prompt, at most `limit` blocks.
    pub fn longest_match(&self, spans: impl Iterator<Item = Span>, limit: u32) -> Match {
        let mut found = Match::default();
        for span in spans {
            let wanted = span.blocks.min(limit - found.blocks);
            let Some(&slot) = self.slot_of.get(&span.node) else {
                break;
            };
            let node = &self.nodes[slot as usize];
            let hit = wanted.min(node.resident);
            found.blocks += hit;
            found.evictable += hit - hit.min(self.held(node));
            if hit < span.blocks {
                break;
            }
        }
        found
    }

    /// Whether somebody holds this block of a node.
    pub fn is_held(&self, id: NodeId, block: u32) -> bool {
        let node = self
            .slot_of
            .get(&id)
            .map(|&slot| &self.nodes[slot as usize]);
        node.is_some_and(|node| self.held(node) > block)
    }

    /// Takes `count` blocks out of the pool as loose ones: blank blocks first, then the least
    /// recently used. There must be that many available.
    pub fn take(&mut self, count: u32) {
        debug_assert!(count <= self.available());
        let blank = count.min(self.blank);
        self.blank -= blank;
        let mut missing = count - blank;
        while missing > 0 {
            missing -= self.evict(missing);
        }
    }

    /// Gives loose blocks back; their content is forgotten.
    pub fn put_back(&mut self, count: u32) {
        self.blank += count;
    }

    /// Gives the content of blocks `low..high` of a node to loose blocks of the caller, and returns
    /// how many of those are loose no more: they became part of the node, or they are blank again
    /// because the node has the block already and nobody holds it. The others are second copies and
    /// stay loose. All blocks before `low` must be resident.
    pub fn store(&mut self, id: NodeId, low: u32, high: u32) -> u32 {
        let slot = self.slot(id);
        let node = &self.nodes[slot as usize];
        debug_assert!(node.resident >= low);
        let resident = node.resident.clamp(low, high);
        let needless = resident - resident.min(self.held(node)).max(low);
        self.blank += needless;
        if resident < high {
            // They belong to no run until their hold is released.
            self.nodes[slot as usize].resident = high;
            self.log(CacheEventKind::Stored, id, resident, high);
        }
        needless + high - resident
    }

    /// Moves a hold on the first `from` blocks of a node (0 = none yet) to its first `to` blocks,
    /// all of them resident.
    pub fn extend_hold(&mut self, id: NodeId, from: u32, to: u32) {
        let slot = self.slot_of[&id];
        self.claim(slot, to);
        self.add_hold(slot, to);
        if from > 0 {
            self.remove_hold(slot, from);
        }
    }

    /// Ends a hold on the first `blocks` blocks of a node. What nobody else holds becomes the most
    /// recently used part of the cache.
    pub fn release(&mut self, id: NodeId, blocks: u32) {
        let slot = self.slot_of[&id];
        self.remove_hold(slot, blocks);
        let node = &self.nodes[slot as usize];
        let held = self.held(node);
        if held >= blocks {
            return;
        }
        let above = node.runs;
        let run = self.lru.push(slot, held, blocks, above);
        self.nodes[slot as usize].runs = run;
        self.evictable += blocks - held;
    }

    fn held(&self, node: &Node) -> u32 {
        if node.holds == NONE {
            0
        } else {
            self.holds[node.holds as usize].blocks
        }
    }

    fn slot(&mut self, id: NodeId) -> Index {
        if let Some(&slot) = self.slot_of.get(&id) {
            return slot;
        }
        let node = Node {
            id,
            resident: 0,
            holds: NONE,
            runs: NONE,
        };
        let slot = place(&mut self.nodes, &mut self.spare_nodes, node);
        self.slot_of.insert(id, slot);
        slot
    }

    /// Takes the first `blocks` blocks of a node out of the evictable runs.
    fn claim(&mut self, slot: Index, blocks: u32) {
        loop {
            let run = self.nodes[slot as usize].runs;
            if run == NONE {
                return;
            }
            let (low, high, above) = {
                let run = self.lru.get(run);
                (run.low, run.high, run.above)
            };
            if low >= blocks {
                return;
            }
            if high > blocks {
                self.lru.get_mut(run).low = blocks;
                self.evictable -= blocks - low;
                return;
            }
            self.evictable -= high - low;
            self.lru.unlink(run);
            self.nodes[slot as usize].runs = above;
        }
    }

    fn add_hold(&mut self, slot: Index, blocks: u32) {
        let mut before = NONE;
        let mut at = self.nodes[slot as usize].holds;
        while at != NONE && self.holds[at as usize].blocks > blocks {
            before = at;
            at = self.holds[at as usize].shorter;
        }
        if at != NONE && self.holds[at as usize].blocks == blocks {
            self.holds[at as usize].holders += 1;
            return;
        }
        let hold = Hold {
            blocks,
            holders: 1,
            shorter: at,
        };
        let hold = place(&mut self.holds, &mut self.spare_holds, hold);
        self.link_hold(slot, before, hold);
    }

    fn remove_hold(&mut self, slot: Index, blocks: u32) {
        let mut before = NONE;
        let mut at = self.nodes[slot as usize].holds;
        while self.holds[at as usize].blocks != blocks {
            before = at;
            at = self.holds[at as usize].shorter;
        }
        let hold = &mut self.holds[at as usize];
        hold.holders -= 1;
        if hold.holders == 0 {
            let shorter = hold.shorter;
            self.spare_holds.push(at);
            self.link_hold(slot, before, shorter);
        }
    }

    fn link_hold(&mut self, slot: Index, before: Index, hold: Index) {
        match before {
            NONE => self.nodes[slot as usize].holds = hold,
            before => self.holds[before as usize].shorter = hold,
        }
    }

    /// Evicts at most `limit` blocks of the least recently used run; returns how many.
    fn evict(&mut self, limit: u32) -> u32 {
        let oldest = self.lru.oldest();
        let run = self.lru.get_mut(oldest);
        let count = limit.min(run.high - run.low);
        run.high -= count;
        let (slot, low, high) = (run.slot, run.low, run.high);
        self.evictable -= count;
        let node = &mut self.nodes[slot as usize];
        // The oldest run of a node is the one farthest from its start.
        debug_assert_eq!(node.resident, high + count);
        node.resident = high;
        let id = node.id;
        if low == high {
            self.drop_last_run(slot, oldest);
        }
        self.log(CacheEventKind::Removed, id, high, high + count);
        count
    }

    fn drop_last_run(&mut self, slot: Index, run: Index) {
        self.lru.unlink(run);
        let node = &mut self.nodes[slot as usize];
        if node.runs == run {
            node.runs = NONE;
            if node.resident == 0 {
                self.slot_of.remove(&node.id);
                self.spare_nodes.push(slot);
            }
            return;
        }
        let mut at = node.runs;
        while self.lru.get(at).above != run {
            at = self.lru.get(at).above;
        }
        self.lru.get_mut(at).above = NONE;
    }

    fn log(&mut self, kind: CacheEventKind, node: NodeId, low: u32, high: u32) {
        if let Some(events) = &mut self.events {
            events.push(CacheEvent {
                kind,
                node,
                low,
                high,
            });
        }
    }
}

/// Puts a value into a slab: into a spare place, or at the end.
fn place<T>(slab: &mut Vec<T>, spare: &mut Vec<Index>, value: T) -> Index {
    match spare.pop() {
        Some(index) => {
            slab[index as usize] = value;
            index
        }
        None => {
            slab.push(value);
            (slab.len() - 1) as Index
        }
    }
}
