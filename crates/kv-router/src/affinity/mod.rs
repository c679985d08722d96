//! Session affinity: which candidate the requests of one key go to.
//!
//! The first request of a key *initializes* it: the others wait until a worker took that request,
//! which *binds* the key. Each request in flight holds a *lease*; the time to live counts from
//! the release of the last one.

mod key;
mod table;

use std::sync::Arc;

use crate::types::{Candidate, RequestId};
pub use key::affinity_key;
pub use table::SessionAffinity;

/// The right and duty to initialize a key: ends with `commit` or `abandon`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub(crate) key: Arc<str>,
    pub(crate) revision: u64,
}

/// A share in a bound key: ends with `release`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(crate) key: Arc<str>,
    pub(crate) revision: u64,
    pub(crate) target: Candidate,
}

impl Hold {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl Lease {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The bound candidate when the lease was given out.
    pub fn target(&self) -> Candidate {
        self.target
    }
}

/// What a request got for its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It initializes the key.
    Initializer(Hold),
    /// Another request initializes the key: wait for it.
    Waiting,
    /// The key is bound.
    Bound(Lease),
}

/// What became of a key's initialization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// Other holders joined and go on.
    Joined,
    /// The next waiter initializes the key now.
    Next(RequestId, Hold),
    /// Nobody waited: the key is forgotten.
    Forgotten,
}
