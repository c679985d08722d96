//! KV-cache-aware request routing under an explicit clock.
//!
//! [`OfflineRouter`] is the whole policy for a host that drives it; below it are
//! [`LocalScheduler`] (selection, admission, booking, queueing), [`SessionAffinity`] (session
//! bindings) and [`RadixTree`] (the prefix index). One owner holds workers, load, index and
//! sessions, so they cannot disagree. A candidate is always a (worker, dp rank); iteration is in
//! sorted order, every draw comes from the seed, and nothing reads the wall clock: equal calls
//! give equal answers.
//!
//! ```
//! use kv_router::{
//!     KvEvent, OfflineRouter, PlaceRequest, RouterConfig, StoredBlock, WorkerConfig,
//!     block_hashes, sequence_hashes,
//! };
//!
//! let workers = [WorkerConfig::new(0, 1), WorkerConfig::new(1, 1)];
//! let mut router = OfflineRouter::new(RouterConfig::default(), &workers)?;
//!
//! let tokens: Vec<u32> = (0..64).collect();
//! let local = block_hashes(&tokens, 16, None);
//! let chain = sequence_hashes(&local);
//! let request = PlaceRequest {
//!     request_id: 1,
//!     isl_tokens: 64,
//!     sequence_hashes: &chain,
//!     ..PlaceRequest::default()
//! };
//! let first = router.place(0.0, &request)?.decision.expect("workers are idle");
//! router.dispatch_committed(0.0, 1, first.candidate)?;
//!
//! let blocks = local.iter().zip(&chain);
//! let blocks: Vec<_> =
//!     blocks.map(|(&tokens_hash, &block_hash)| StoredBlock { block_hash, tokens_hash }).collect();
//! router.observe(9.0, first.candidate, KvEvent::Stored { parent_hash: None, blocks: &blocks })?;
//! router.request_terminal(10.0, 1)?;
//!
//! let again = router.place(11.0, &PlaceRequest { request_id: 2, ..request })?;
//! let again = again.decision.expect("workers are idle");
//! assert_eq!((again.candidate, again.cached_tokens), (first.candidate, 64));
//! # Ok::<(), kv_router::RouterError>(())
//! ```

mod affinity;
mod clock;
mod command;
mod config;
mod error;
#[cfg(test)]
mod fuzz;
mod hash;
mod index;
mod load;
mod queue;
mod rng;
mod router;
mod scheduler;
mod types;

pub use affinity::{Abandoned, Acquired, Hold, Lease, SessionAffinity, affinity_key};
pub use clock::MAX_CLOCK_MS;
pub use command::{RequestSpec, SessionSpec};
pub use config::{
    AffinityConfig, AffinityMode, ApproximateCachePolicy, BindingMode, ClassConfig,
    ConditionalDisaggPolicy, DEFAULT_MAX_NUM_BATCHED_TOKENS, PolicyConfig, PrefillLoadModel,
    QueuePolicy, RouterConfig, SharedCacheType, TrackingHash, TrackingKey, WorkerConfig,
    WorkerType,
};
pub use error::{ErrorKind, RouterError};
pub use hash::{HASH_SEED, block_hashes, eagle_block_hashes, sequence_hashes};
pub use index::{IndexCounters, KvEvent, OwnedBlock, RadixTree, StoredBlock};
pub use router::{Evidence, EvidenceRow, OfflineRouter};
pub use scheduler::{CandidateLoad, LocalScheduler, PotentialLoad};
pub use types::{
    Candidate, Decision, DpRank, Overrides, Pin, PlaceRequest, Placed, RequestId, SessionIdentity,
    TierOverlap, WorkerId,
};

/// Source revision of the build; a build outside the container does not know it.
pub const REVISION: &str = match option_env!("SOURCE_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};
