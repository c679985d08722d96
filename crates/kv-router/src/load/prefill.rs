//! Prompt tokens that a candidate still has to prefill.

use std::collections::BTreeMap;

/// One active prefill.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Prefill {
    tokens: u64,
    /// Modelled duration on an idle worker, ms.
    duration_ms: Option<f64>,
}

/// The active prefills of one candidate, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrefillLoad {
    active: BTreeMap<u64, Prefill>,
    sum: u64,
    /// How many have a modelled duration.
    modelled: usize,
    /// Since when the oldest prefill is the oldest, ms.
    oldest_since_ms: f64,
}

impl PrefillLoad {
    /// Adds the prefill of booking `attempt`; later bookings have higher numbers.
    pub(crate) fn add(&mut self, now_ms: f64, attempt: u64, tokens: u64, duration: Option<f64>) {
        if self
            .active
            .first_key_value()
            .is_none_or(|(first, _)| attempt < *first)
        {
            self.oldest_since_ms = now_ms;
        }
        self.active.insert(
            attempt,
            Prefill {
                tokens,
                duration_ms: duration,
            },
        );
        self.sum += tokens;
        self.modelled += usize::from(duration.is_some());
    }

    /// Ends a prefill; false when it ended already.
    pub(crate) fn complete(&mut self, now_ms: f64, attempt: u64) -> bool {
        let oldest = self
            .active
            .first_key_value()
            .is_some_and(|(first, _)| *first == attempt);
        let Some(prefill) = self.active.remove(&attempt) else {
            return false;
        };
        if oldest {
            self.oldest_since_ms = now_ms;
        }
        self.sum -= prefill.tokens;
        self.modelled -= usize::from(prefill.duration_ms.is_some());
        true
    }

    /// Prompt tokens still to prefill at `now_ms`.
    ///
    /// Time eats into the oldest prefill, linearly over its modelled duration, and when all
    /// prefills have one the rest of the time goes on to the next. A duration of 0 is done.
    pub(crate) fn tokens(&self, now_ms: f64) -> u64 {
        if self.modelled == 0 {
            return self.sum;
        }
        let spills = self.modelled == self.active.len();
        let mut elapsed = (now_ms - self.oldest_since_ms).max(0.0);
        let mut done = 0.0;
        for prefill in self.active.values() {
            let Some(duration) = prefill.duration_ms else {
                break;
            };
            if elapsed < duration {
                done += prefill.tokens as f64 * (elapsed / duration);
                break;
            }
            done += prefill.tokens as f64;
            elapsed -= duration;
            if !spills {
                break;
            }
        }
        (self.sum as f64 - done).max(0.0).ceil() as u64
    }

    /// The earliest time from `now_ms` on at which at most `limit` tokens are left, if time alone
    /// leads there; ms.
    pub(crate) fn falls_to(&self, now_ms: f64, limit: u64) -> Option<f64> {
        if self.tokens(now_ms) <= limit {
            return Some(now_ms);
        }
        let spills = self.modelled == self.active.len();
        let mut excess = (self.sum - limit.min(self.sum)) as f64;
        let mut at = self.oldest_since_ms;
        for prefill in self.active.values() {
            let duration = prefill.duration_ms?;
            let tokens = prefill.tokens as f64;
            if excess <= tokens {
                at = (at + duration * (excess / tokens)).max(now_ms);
                // Rounding can leave the sum a hair above the limit.
                while self.tokens(at) > limit {
                    at = at.next_up().max(at + at * f64::EPSILON);
                }
                return Some(at);
            }
            excess -= tokens;
            at += duration;
            if !spills {
                return None;
            }
        }
        None
    }
}
