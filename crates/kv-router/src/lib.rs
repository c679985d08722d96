//! KV-cache-aware request routing under an explicit clock.

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
    AffinityConfig, AffinityMode, BindingMode, ClassConfig, DEFAULT_MAX_NUM_BATCHED_TOKENS,
    PolicyConfig, PrefillLoadModel, QueuePolicy, RouterConfig, SharedCacheType, WorkerConfig,
    WorkerType,
};
pub use error::{ErrorKind, RouterError};
pub use hash::{HASH_SEED, block_hashes, sequence_hashes};
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
