//! What must hold after every call; for tests.

use std::collections::BTreeMap;

use super::OfflineRouter;
use super::sessions::Grip;

impl OfflineRouter {
    /// The scheduler's invariants, and: leases equal active requests, and everyone who waits for
    /// an initialization has a live request that initializes.
    pub(crate) fn check_invariants(&self) {
        self.scheduler.check_invariants();
        let (placed, waiting) = self.scheduler.live_ids();
        let Some(sessions) = &self.sessions else {
            assert!(self.grips.is_empty());
            return;
        };
        let mut leases: BTreeMap<&str, u32> = BTreeMap::new();
        for (id, grip) in &self.grips {
            assert!(
                placed.contains(id) || waiting.contains(id),
                "request {id} is gone"
            );
            match grip {
                Grip::Lease(lease) if sessions.table.is_current(lease) => {
                    *leases.entry(lease.key()).or_default() += 1;
                }
                Grip::Lease(_) => {}
                Grip::Hold(hold) => assert!(sessions.table.is_initializing(hold.key())),
                Grip::Waiting(key) => {
                    assert!(waiting.contains(id));
                    let initializes =
                        |grip: &Grip| matches!(grip, Grip::Hold(h) if h.key() == &**key);
                    assert!(
                        self.grips.values().any(initializes),
                        "nobody initializes {key}"
                    );
                }
            }
        }
        for key in sessions.table.keys() {
            assert_eq!(
                sessions.table.leases(key),
                leases.remove(key).unwrap_or(0),
                "{key}"
            );
            let initializes = |grip: &Grip| matches!(grip, Grip::Hold(h) if h.key() == key);
            if sessions.table.is_initializing(key) {
                assert!(
                    self.grips.values().any(initializes),
                    "nobody initializes {key}"
                );
            }
        }
        assert!(leases.is_empty());
    }
}
