//! The host's clock.

use crate::error::{ErrorKind, RouterError};

/// The largest clock value, ms: the largest integer up to which f64 counts exactly.
pub const MAX_CLOCK_MS: f64 = 9_007_199_254_740_992.0;

/// A clock that only a caller moves, and only forwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clock {
    now_ms: f64,
    max_ms: f64,
}

impl Clock {
    /// A clock at 0 that leaves room for deadlines `reserve_ms` ahead.
    pub(crate) fn with_reserve(reserve_ms: f64) -> Self {
        Self {
            now_ms: 0.0,
            max_ms: MAX_CLOCK_MS - reserve_ms,
        }
    }

    pub(crate) fn now_ms(self) -> f64 {
        self.now_ms
    }

    /// Refuses a time that the clock cannot move to.
    pub(crate) fn check(self, now_ms: f64) -> Result<(), RouterError> {
        if !(0.0..=self.max_ms).contains(&now_ms) || now_ms.is_sign_negative() {
            let expected = format!("milliseconds from 0 to {}", self.max_ms);
            return Err(RouterError::new(
                ErrorKind::ClockInvalid,
                "now_ms",
                now_ms,
                expected,
            ));
        }
        if now_ms < self.now_ms {
            let expected = format!("at least {}, the time of the call before", self.now_ms);
            return Err(RouterError::new(
                ErrorKind::ClockBackwards,
                "now_ms",
                now_ms,
                expected,
            ));
        }
        Ok(())
    }

    /// Moves to a time that `check` accepts.
    pub(crate) fn set(&mut self, now_ms: f64) {
        self.now_ms = now_ms;
    }
}
