//! The simulated clock: whole nanoseconds, so that equal times are equal and sums are exact.

/// A point of simulated time, or a span of it, ns. The replay starts at 0.
pub type Nanos = u64;

/// Longest time that a trace or a setting may name, ms: 100 days, where ms as f64 are still good to
/// a nanosecond.
pub const MAX_MS: f64 = 100.0 * 24.0 * 3600.0 * 1000.0;

/// Nearest nanosecond; `ms` is within 0..=[`MAX_MS`].
#[inline]
pub fn from_ms(ms: f64) -> Nanos {
    (ms * 1e6).round() as Nanos
}

/// Milliseconds, as every report shows them.
#[inline]
pub fn to_ms(nanos: Nanos) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_nearest_nanosecond() {
        assert_eq!(from_ms(1.234_567_891_23), 1_234_568);
        assert_eq!(from_ms(0.000_000_49), 0);
        assert_eq!(from_ms(0.000_001_5), 2);
        assert_eq!(to_ms(5_740_001), 5.740_001);
    }

    #[test]
    fn milliseconds_are_good_to_a_nanosecond() {
        let longest = from_ms(MAX_MS);
        for nanos in [longest, longest - 1, longest / 3, 1, 0] {
            assert!(from_ms(to_ms(nanos)).abs_diff(nanos) <= 1, "{nanos}");
        }
    }
}
