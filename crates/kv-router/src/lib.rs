//! KV-cache-aware request routing under an explicit clock.

#[allow(dead_code, unused_imports)]
mod config;
mod error;
mod hash;
mod index;
#[allow(dead_code)]
mod load;
#[allow(dead_code)]
mod rng;
mod router;
#[allow(dead_code)]
mod scheduler;
mod types;

pub use config::{
    AffinityConfig, AffinityMode, BindingMode, ClassConfig, DEFAULT_MAX_NUM_BATCHED_TOKENS,
    PolicyConfig, PrefillLoadModel, QueuePolicy, RouterConfig, SharedCacheType, WorkerConfig,
    WorkerType,
};
pub use error::{ErrorKind, RouterError};
pub use hash::{HASH_SEED, block_hashes, sequence_hashes};
pub use index::{IndexCounters, KvEvent, OwnedBlock, RadixTree, StoredBlock};
pub use router::{MAX_CLOCK_MS, OfflineRouter};
pub use scheduler::LocalScheduler;
pub use types::{
    Candidate, Decision, DpRank, Overrides, Pin, PlaceRequest, Placed, RequestId, SessionIdentity,
    TierOverlap, WorkerId,
};
