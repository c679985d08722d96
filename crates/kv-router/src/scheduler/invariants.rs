//! What must hold after every call; for tests.

use std::collections::{BTreeMap, BTreeSet};

use super::LocalScheduler;
use crate::types::RequestId;

impl LocalScheduler {
    /// Load equals bookings, and nobody waits who could go.
    pub(crate) fn check_invariants(&self) {
        let mut requests = BTreeMap::new();
        let mut shared: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        for booking in self.bookings.values() {
            *requests.entry(booking.candidate).or_insert(0) += 1;
            if self.config.router_track_active_blocks && booking.request.assumes_reuse(&self.config)
            {
                let chain = booking.request.tracked.iter();
                shared.entry(booking.candidate).or_default().extend(chain);
            }
        }
        for member in self.fleet.members() {
            assert_eq!(
                member.active_requests,
                requests.remove(&member.id).unwrap_or(0)
            );
            let shared = shared.remove(&member.id).unwrap_or_default();
            assert_eq!(
                member.prompt.distinct_blocks(),
                shared.len(),
                "{}",
                member.id
            );
            if member.active_requests == 0 {
                assert_eq!(
                    member.prompt.total() + member.private_blocks,
                    0,
                    "{}",
                    member.id
                );
                assert_eq!(member.prefill.tokens(self.now_ms()), 0, "{}", member.id);
            }
        }
        assert!(
            requests.is_empty(),
            "bookings on candidates that are gone: {requests:?}"
        );
        assert!(self.dirty.is_empty(), "every call ends with a drain");

        let mut copy = self.clone();
        copy.mark_all();
        assert_eq!(copy.drain(self.now_ms()), [], "a waiter is stranded");
        if let Some(at) = self.next_wakeup_ms() {
            assert!(at > self.now_ms(), "a wake-up that would do nothing");
        }
    }

    /// Ids of the requests that are placed, and of those that wait.
    pub(crate) fn live_ids(&self) -> (BTreeSet<RequestId>, BTreeSet<RequestId>) {
        (
            self.bookings.keys().copied().collect(),
            self.queue.all_ids().collect(),
        )
    }
}
