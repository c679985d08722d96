//! The engine of one worker: a paged KV cache, a scheduler, a timing model.

mod cache;
mod decode;
mod lru;
mod scheduler;
mod sequence;
mod table;
mod timing;

#[cfg(test)]
mod cache_tests;

pub use cache::{CacheEvent, CacheEventKind, KvCache, Match, NodeId, Span};
pub use scheduler::{Engine, Job, PassEnd, Refusal};
pub use table::{DecodeCurve, Extrapolation, Point, TimeTable};
pub use timing::{Estimate, PassWork, Timing};

/// First node id that the engine uses itself, for blocks behind a prompt that no other prompt can
/// hold. Ids of the caller's nodes are smaller.
pub const FIRST_PRIVATE_NODE: NodeId = 1 << 31;
