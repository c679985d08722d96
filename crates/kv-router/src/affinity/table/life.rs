//! What becomes of holds and leases.

use std::sync::Arc;

use super::{Entry, SessionAffinity};
use crate::affinity::{Abandoned, Hold, Lease};
use crate::config::BindingMode;
use crate::error::{ErrorKind, RouterError};
use crate::types::{Candidate, RequestId};

impl SessionAffinity {
    /// Joins the initialization: it lasts until every holder committed or abandoned it.
    ///
    /// # Errors
    /// `StaleAffinity` when the key is not in that initialization any more.
    pub fn join(&mut self, hold: &Hold) -> Result<Hold, RouterError> {
        match self.entries.get_mut(&hold.key) {
            Some(Entry::Initializing {
                revision, holders, ..
            }) if *revision == hold.revision => {
                *holders += 1;
                Ok(hold.clone())
            }
            _ => Err(stale(&hold.key)),
        }
    }

    /// The worker `target` took the initializing request: binds the key. Gives the caller's lease
    /// and the waiters, in order, each of which now acquires the key for itself.
    ///
    /// A holder that joined and commits second gets a lease of the binding that is there.
    ///
    /// # Errors
    /// `StaleAffinity` when the key is not in that initialization any more; clock.
    pub fn commit(
        &mut self,
        now_ms: f64,
        hold: &Hold,
        target: Candidate,
    ) -> Result<(Lease, Vec<RequestId>), RouterError> {
        self.clock.check(now_ms)?;
        let entry = self
            .entries
            .get(&hold.key)
            .filter(|e| e.revision() == hold.revision);
        let waiters = match entry {
            None => return Err(stale(&hold.key)),
            Some(Entry::Initializing { waiters, .. }) => waiters.iter().copied().collect(),
            Some(Entry::Bound { .. }) => Vec::new(),
        };
        self.clock.set(now_ms);
        if matches!(self.entries[&hold.key], Entry::Initializing { .. }) {
            let revision = hold.revision;
            let entry = Entry::Bound {
                revision,
                target,
                leases: 0,
                idle: None,
            };
            self.entries.insert(Arc::clone(&hold.key), entry);
        }
        Ok((self.lease(&hold.key), waiters))
    }

    /// Gives up an initialization.
    ///
    /// # Errors
    /// `StaleAffinity` when the key is not in that initialization any more; clock.
    pub fn abandon(&mut self, now_ms: f64, hold: &Hold) -> Result<Abandoned, RouterError> {
        self.clock.check(now_ms)?;
        let (holders, waiters) = match self.entries.get_mut(&hold.key) {
            Some(Entry::Initializing {
                revision,
                holders,
                waiters,
            }) if *revision == hold.revision => (holders, waiters),
            _ => return Err(stale(&hold.key)),
        };
        self.clock.set(now_ms);
        if *holders > 1 {
            *holders -= 1;
            return Ok(Abandoned::Joined);
        }
        let mut waiters = std::mem::take(waiters);
        let Some(next) = waiters.pop_front() else {
            self.entries.remove(&hold.key);
            return Ok(Abandoned::Forgotten);
        };
        let revision = self.next_revision();
        let entry = Entry::Initializing {
            revision,
            holders: 1,
            waiters,
        };
        self.entries.insert(Arc::clone(&hold.key), entry);
        Ok(Abandoned::Next(
            next,
            Hold {
                key: Arc::clone(&hold.key),
                revision,
            },
        ))
    }

    /// `request` does not wait for the key any more; whether it did.
    pub fn withdraw(&mut self, key: &str, request: RequestId) -> bool {
        let Some(Entry::Initializing { waiters, .. }) = self.entries.get_mut(key) else {
            return false;
        };
        let before = waiters.len();
        waiters.retain(|waiter| *waiter != request);
        waiters.len() < before
    }

    /// A request with a lease was dispatched to `at`. Elsewhere than bound, that moves the
    /// binding in soft mode.
    ///
    /// # Errors
    /// `BindingViolated` in hard mode; the binding is ended then. `StaleAffinity` when the
    /// binding is not there any more; clock.
    pub fn dispatched(
        &mut self,
        now_ms: f64,
        lease: &Lease,
        at: Candidate,
    ) -> Result<(), RouterError> {
        self.clock.check(now_ms)?;
        let bound = match self.entries.get_mut(&lease.key) {
            Some(Entry::Bound {
                revision, target, ..
            }) if *revision == lease.revision => target,
            _ => return Err(stale(&lease.key)),
        };
        let target = *bound;
        self.clock.set(now_ms);
        if at == target {
            return Ok(());
        }
        match self.binding {
            BindingMode::Soft => {
                *bound = at;
                Ok(())
            }
            BindingMode::Hard => {
                self.invalidate(&lease.key);
                let expected = format!("{target}, to which the key is bound");
                Err(RouterError::new(
                    ErrorKind::BindingViolated,
                    "at",
                    at,
                    expected,
                ))
            }
        }
    }

    /// Ends a lease. With the last one the time to live begins. A lease of a binding that was
    /// invalidated meanwhile ends silently.
    ///
    /// # Errors
    /// Clock.
    pub fn release(&mut self, now_ms: f64, lease: &Lease) -> Result<(), RouterError> {
        self.clock.check(now_ms)?;
        self.clock.set(now_ms);
        let deadline = (now_ms + self.ttl_ms).to_bits();
        if let Some(Entry::Bound {
            revision,
            leases,
            idle,
            ..
        }) = self.entries.get_mut(&lease.key)
            && *revision == lease.revision
            && *leases > 0
        {
            *leases -= 1;
            if *leases == 0 {
                *idle = Some(deadline);
                self.idle.insert((deadline, Arc::clone(&lease.key)));
            }
        }
        Ok(())
    }
}

fn stale(key: &str) -> RouterError {
    let expected = "a key whose entry is still the one of the hold or lease";
    RouterError::new(ErrorKind::StaleAffinity, "key", key, expected)
}
