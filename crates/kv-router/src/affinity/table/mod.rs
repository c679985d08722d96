//! The table of keys.

mod life;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Acquired, Hold, Lease};
use crate::clock::Clock;
use crate::config::{AffinityConfig, BindingMode, validate_max_entries, validate_ttl};
use crate::error::{ErrorKind, RouterError};
use crate::types::{Candidate, RequestId, WorkerId};

/// Longest key, bytes.
const MAX_KEY_BYTES: usize = 256;

/// A key's state.
#[derive(Clone, Debug)]
enum Entry {
    Initializing {
        revision: u64,
        holders: u32,
        waiters: VecDeque<RequestId>,
    },
    Bound {
        revision: u64,
        target: Candidate,
        leases: u32,
        idle: Option<Deadline>,
    },
}

/// When an idle binding is forgotten: bits of a positive float order like the float.
type Deadline = u64;

impl Entry {
    fn revision(&self) -> u64 {
        match self {
            Self::Initializing { revision, .. } | Self::Bound { revision, .. } => *revision,
        }
    }
}

/// Keys, their bindings and leases, under the host's clock: nothing runs in the background.
///
/// Every method that takes `now_ms` first forgets the bindings whose time is up; a deadline that
/// equals `now_ms` is up. An error leaves the state unchanged, except for `dispatched` in hard
/// mode, which ends the violated binding.
#[derive(Clone, Debug)]
pub struct SessionAffinity {
    ttl_ms: f64,
    binding: BindingMode,
    max_entries: usize,
    clock: Clock,
    entries: FxHashMap<Arc<str>, Entry>,
    /// Idle bindings by deadline.
    idle: BTreeSet<(Deadline, Arc<str>)>,
    /// Counts from 1.
    last_revision: u64,
}

impl SessionAffinity {
    /// An empty table at clock 0.
    ///
    /// # Errors
    /// `InvalidValue`: time to live or capacity out of range.
    pub fn new(config: &AffinityConfig) -> Result<Self, RouterError> {
        validate_ttl("ttl_secs", config.ttl_secs)?;
        validate_max_entries("max_entries", config.max_entries)?;
        let ttl_ms = config.ttl_secs * 1000.0;
        Ok(Self {
            ttl_ms,
            binding: config.binding,
            max_entries: config.max_entries,
            // Every deadline is representable: a clock too close to the end is refused.
            clock: Clock::with_reserve(ttl_ms),
            entries: FxHashMap::default(),
            idle: BTreeSet::new(),
            last_revision: 0,
        })
    }

    /// Asks for the key on behalf of `request`, which waits if another request initializes it.
    ///
    /// # Errors
    /// `InvalidValue` for a key that is empty or longer than 256 bytes; `AffinityFull`; clock.
    pub fn acquire(
        &mut self,
        now_ms: f64,
        key: &str,
        request: RequestId,
    ) -> Result<Acquired, RouterError> {
        self.clock.check(now_ms)?;
        self.check_room(now_ms, key)?;
        self.advance(now_ms)?;
        if let Some((name, entry)) = self.entries.get_key_value(key) {
            let name = Arc::clone(name);
            match entry {
                Entry::Bound { .. } => return Ok(Acquired::Bound(self.lease(&name))),
                Entry::Initializing { .. } => {}
            }
            if let Some(Entry::Initializing { waiters, .. }) = self.entries.get_mut(&name) {
                waiters.push_back(request);
            }
            return Ok(Acquired::Waiting);
        }
        let key: Arc<str> = key.into();
        let revision = self.next_revision();
        let entry = Entry::Initializing {
            revision,
            holders: 1,
            waiters: VecDeque::new(),
        };
        self.entries.insert(Arc::clone(&key), entry);
        Ok(Acquired::Initializer(Hold { key, revision }))
    }

    /// Refuses a key that `acquire` would refuse at this time.
    pub(crate) fn check_room(&self, now_ms: f64, key: &str) -> Result<(), RouterError> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            let expected = format!("1 to {MAX_KEY_BYTES} bytes");
            let value = format!("{} bytes", key.len());
            return Err(RouterError::new(
                ErrorKind::InvalidValue,
                "key",
                value,
                expected,
            ));
        }
        if self.entries.contains_key(key) || self.entries.len() < self.max_entries {
            return Ok(());
        }
        let expires = self
            .idle
            .first()
            .is_some_and(|(at, _)| *at <= now_ms.to_bits());
        if expires {
            return Ok(());
        }
        let expected = format!(
            "fewer than {} keys in use, or a known key",
            self.max_entries
        );
        Err(RouterError::new(
            ErrorKind::AffinityFull,
            "key",
            key,
            expected,
        ))
    }

    /// Where the key is bound at `now_ms`, without extending anything.
    pub fn query(&self, now_ms: f64, key: &str) -> Option<Candidate> {
        match self.entries.get(key)? {
            Entry::Bound {
                idle: Some(deadline),
                ..
            } if *deadline <= now_ms.to_bits() => None,
            Entry::Bound { target, .. } => Some(*target),
            Entry::Initializing { .. } => None,
        }
    }

    /// Whether a request initializes the key.
    pub fn is_initializing(&self, key: &str) -> bool {
        matches!(self.entries.get(key), Some(Entry::Initializing { .. }))
    }

    /// Ends the binding of a key, if there is one; its leases end silently.
    pub fn invalidate(&mut self, key: &str) -> bool {
        let Some(Entry::Bound { idle, .. }) = self.entries.get(key) else {
            return false;
        };
        if let Some(deadline) = idle {
            self.idle.remove(&(*deadline, key.into()));
        }
        self.entries.remove(key);
        true
    }

    /// Ends every binding to a worker; gives the number.
    pub fn invalidate_worker(&mut self, worker_id: WorkerId) -> usize {
        let bound = self.entries.iter().filter(|(_, entry)| match entry {
            Entry::Bound { target, .. } => target.worker_id == worker_id,
            Entry::Initializing { .. } => false,
        });
        let keys: Vec<_> = bound.map(|(key, _)| Arc::clone(key)).collect();
        keys.iter().filter(|key| self.invalidate(key)).count()
    }

    /// Moves the clock and forgets the bindings whose time is up; gives their number.
    ///
    /// # Errors
    /// `ClockInvalid`, `ClockBackwards`.
    pub fn advance(&mut self, now_ms: f64) -> Result<usize, RouterError> {
        self.clock.check(now_ms)?;
        self.clock.set(now_ms);
        let mut expired = 0;
        while let Some((deadline, _)) = self.idle.first()
            && *deadline <= now_ms.to_bits()
        {
            let (_, key) = self.idle.pop_first().expect("the set is not empty");
            self.entries.remove(&key);
            expired += 1;
        }
        Ok(expired)
    }

    /// When the next idle binding is forgotten, ms.
    pub fn next_expiry_ms(&self) -> Option<f64> {
        self.idle
            .first()
            .map(|(deadline, _)| f64::from_bits(*deadline))
    }

    /// Number of keys, initializing ones too.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of leases of a key that are not released.
    pub fn leases(&self, key: &str) -> u32 {
        match self.entries.get(key) {
            Some(Entry::Bound { leases, .. }) => *leases,
            _ => 0,
        }
    }

    /// Whether bindings may move by dispatch.
    pub(crate) fn binding(&self) -> BindingMode {
        self.binding
    }

    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(|key| &**key)
    }

    #[cfg(test)]
    pub(crate) fn is_current(&self, lease: &Lease) -> bool {
        let entry = self.entries.get(&lease.key);
        entry.is_some_and(|entry| entry.revision() == lease.revision)
    }

    fn lease(&mut self, key: &Arc<str>) -> Lease {
        match self.entries.get_mut(key) {
            Some(Entry::Bound {
                revision,
                target,
                leases,
                idle,
            }) => {
                *leases += 1;
                if let Some(deadline) = idle.take() {
                    self.idle.remove(&(deadline, Arc::clone(key)));
                }
                Lease {
                    key: Arc::clone(key),
                    revision: *revision,
                    target: *target,
                }
            }
            _ => unreachable!("only bound keys are leased"),
        }
    }

    fn next_revision(&mut self) -> u64 {
        self.last_revision += 1;
        self.last_revision
    }

    /// A canonical description, for the state digest.
    pub(crate) fn describe(&self) -> String {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        format!(
            "{:?} {entries:?} {:?} {}",
            self.clock, self.idle, self.last_revision
        )
    }
}
