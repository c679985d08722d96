//! Exact statistics of a set of values.

use serde::Serialize;

use crate::time::{self, Nanos};

/// Statistics of a set of values. Percentiles are values of the set: with the values sorted, the
/// one at index `round((n - 1) p / 100)`, halves up; so min <= percentile <= max always.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Percentile 50.
    pub median: f64,
    /// Percentile 75.
    pub p75: f64,
    /// Percentile 90.
    pub p90: f64,
    /// Percentile 95.
    pub p95: f64,
    /// Percentile 99.
    pub p99: f64,
    /// Standard deviation of the whole population.
    pub std: f64,
}

/// Names of the statistics, in the order of [`Distribution::values`].
pub const STATISTICS: [&str; 9] = [
    "mean", "min", "max", "median", "p75", "p90", "p95", "p99", "std",
];

impl Distribution {
    /// Statistics of plain values, none of them NaN; `None` when there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        Self::of_weighted(values.iter().map(|&value| (value, 1)))
    }

    /// Statistics of time spans in ms.
    pub fn of_spans(spans: Vec<Nanos>) -> Option<Self> {
        Self::of(spans.into_iter().map(time::to_ms).collect())
    }

    /// Statistics of values in rising order, each with its count.
    pub fn of_weighted(values: impl Iterator<Item = (f64, u64)> + Clone) -> Option<Self> {
        let (mut count, mut sum) = (0u64, 0.0);
        for (value, weight) in values.clone() {
            count += weight;
            sum += value * weight as f64;
        }
        if count == 0 {
            return None;
        }
        let mean = sum / count as f64;
        let wanted = [0, 50, 75, 90, 95, 99, 100].map(|percent| rank(count, percent));
        let mut found = [0.0; 7];
        let (mut passed, mut next, mut squares) = (0u64, 0, 0.0);
        for (value, weight) in values {
            squares += (value - mean) * (value - mean) * weight as f64;
            passed += weight;
            while next < wanted.len() && wanted[next] < passed {
                found[next] = value;
                next += 1;
            }
        }
        let [min, median, p75, p90, p95, p99, max] = found;
        // Rounding may put the mean of equal values a hair outside of them.
        let (mean, std) = (mean.clamp(min, max), (squares / count as f64).sqrt());
        Some(Self {
            count,
            mean,
            min,
            max,
            median,
            p75,
            p90,
            p95,
            p99,
            std,
        })
    }

    /// The statistics in the order of [`STATISTICS`].
    pub fn values(&self) -> [f64; 9] {
        [
            self.mean,
            self.min,
            self.max,
            self.median,
            self.p75,
            self.p90,
            self.p95,
            self.p99,
            self.std,
        ]
    }
}

/// Index of a percentile among `count` sorted values, in whole numbers so that halves are exact.
fn rank(count: u64, percent: u64) -> u64 {
    let scaled = u128::from(count - 1) * u128::from(percent);
    ((scaled + 50) / 100) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_published_example() {
        let found = Distribution::of(vec![16.0, 10.0, 20.0, 10.0]).unwrap();
        assert_eq!((found.median, found.p75), (16.0, 16.0));
        assert_eq!(
            (found.min, found.max, found.mean, found.count),
            (10.0, 20.0, 14.0, 4)
        );
        assert_eq!(found.std, 18.0f64.sqrt());
    }

    #[test]
    fn equal_values_are_every_statistic() {
        let found = Distribution::of(vec![1.1; 7]).unwrap();
        for (name, value) in STATISTICS.iter().zip(found.values()).take(8) {
            assert_eq!(value, 1.1, "{name}");
        }
    }

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(Distribution::of(Vec::new()), None);
        assert_eq!(Distribution::of_weighted([(1.0, 0)].into_iter()), None);
    }

    proptest! {
        #[test]
        fn weights_are_copies(values in prop::collection::vec((0u32..50, 1u64..5), 1..40)) {
            let mut values = values;
            values.sort_unstable();
            let weighted = values.iter().map(|&(value, weight)| (f64::from(value), weight));
            let copies = values.iter().flat_map(|&(value, weight)| {
                std::iter::repeat_n(f64::from(value), weight as usize)
            });
            let one = Distribution::of_weighted(weighted).unwrap();
            let other = Distribution::of(copies.collect()).unwrap();
            prop_assert_eq!((one.count, one.median, one.p99), (other.count, other.median, other.p99));
            prop_assert!((one.mean - other.mean).abs() < 1e-9 && (one.std - other.std).abs() < 1e-9);
        }

        #[test]
        fn percentiles_stay_inside(values in prop::collection::vec(0.0..1e6f64, 1..200)) {
            let found = Distribution::of(values).unwrap();
            let rising = [
                found.min, found.median, found.p75, found.p90, found.p95, found.p99, found.max,
            ];
            prop_assert!(rising.is_sorted());
            prop_assert!(found.min <= found.mean && found.mean <= found.max);
        }
    }
}
