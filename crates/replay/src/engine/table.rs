//! Measured pass times, interpolated.

use serde::{Deserialize, Serialize};

use super::timing::{Estimate, PassWork};

/// Measured pass times. Between two points the time is the straight line through them. Beyond the
/// last point the line through the last two goes on; before the first its time holds. Either is
/// an extrapolation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeTable {
    /// Prompt tokens of a pass and the time of its prefill part, ms; tokens rise.
    pub prefill: Vec<Point>,
    /// One curve for each measured number of decoding requests, which rises.
    pub decode: Vec<DecodeCurve>,
    /// What happens to a pass that no measurement covers.
    #[serde(default)]
    pub extrapolation: Extrapolation,
}

/// Tokens, and a time in ms.
pub type Point = (u32, f64);

/// The time of the decode part of a pass, for one number of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecodeCurve {
    /// Requests that decode in the pass.
    pub requests: u32,
    /// Mean context of a request, tokens, and the time, ms; tokens rise.
    pub times: Vec<Point>,
}

/// What happens to a pass that no measurement covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extrapolation {
    /// It is extrapolated, and the report counts it.
    #[default]
    Flag,
    /// It ends the replay.
    Refuse,
}

impl TimeTable {
    pub(super) fn prefill(&self, tokens: u64) -> Estimate {
        along(&self.prefill, tokens as f64)
    }

    pub(super) fn decode(&self, work: PassWork) -> Estimate {
        let context = work.context_tokens as f64 / f64::from(work.decodes);
        let curves = &self.decode;
        let requests = f64::from(work.decodes);
        let place = Place::of(curves, |curve| f64::from(curve.requests), requests);
        place.between(|at| along(&curves[at].times, context))
    }

    /// What is wrong with the points: where, and what.
    pub(crate) fn fault(&self) -> Option<(String, String)> {
        if let Some(what) = fault_of(&self.prefill) {
            return Some(("prefill".to_string(), what));
        }
        if self.decode.is_empty() {
            return Some(("decode".to_string(), "there are no points".to_string()));
        }
        let mut requests = 0;
        for (at, curve) in self.decode.iter().enumerate() {
            if curve.requests <= requests {
                let what = format!("{} requests follow {requests}", curve.requests);
                return Some((format!("decode[{at}].requests"), what));
            }
            requests = curve.requests;
            if let Some(what) = fault_of(&curve.times) {
                return Some((format!("decode[{at}].times"), what));
            }
        }
        None
    }
}

fn fault_of(points: &[Point]) -> Option<String> {
    if points.is_empty() {
        return Some("there are no points".to_string());
    }
    let mut before = 0;
    for &(tokens, ms) in points {
        if tokens <= before {
            return Some(format!("{tokens} tokens follow {before}"));
        }
        if !super::timing::is_pass_time(ms) {
            return Some(format!("{ms} is not the time of a pass, ms"));
        }
        before = tokens;
    }
    None
}

fn along(points: &[Point], tokens: f64) -> Estimate {
    let place = Place::of(points, |&(at, _)| f64::from(at), tokens);
    place.between(|at| Estimate {
        ms: points[at].1,
        extrapolated: false,
    })
}

/// Where a value lies among rising ones: `share` of the way from one of them to another.
struct Place {
    low: usize,
    high: usize,
    share: f64,
    outside: bool,
}

impl Place {
    fn of<T>(steps: &[T], key: impl Fn(&T) -> f64, value: f64) -> Self {
        let last = steps.len() - 1;
        let above = steps.partition_point(|step| key(step) < value);
        if above <= last && (above == 0 || key(&steps[above]) == value) {
            return Self {
                low: above,
                high: above,
                share: 0.0,
                outside: key(&steps[above]) != value,
            };
        }
        let high = above.min(last);
        let low = high.saturating_sub(1);
        let (from, to) = (key(&steps[low]), key(&steps[high]));
        Self {
            low,
            high,
            share: if low == high {
                0.0
            } else {
                (value - from) / (to - from)
            },
            outside: above > last,
        }
    }

    fn between(&self, at: impl Fn(usize) -> Estimate) -> Estimate {
        let mut found = at(self.low);
        if self.share > 0.0 {
            let high = at(self.high);
            found.ms = (found.ms + self.share * (high.ms - found.ms)).max(0.0);
            found.extrapolated |= high.extrapolated;
        }
        found.extrapolated |= self.outside;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TimeTable {
        serde_json::from_str(
            r#"{"prefill": [[100, 10.0], [200, 30.0]],
                "decode": [{"requests": 1, "times": [[1000, 4.0], [3000, 6.0]]},
                           {"requests": 5, "times": [[1000, 8.0], [2000, 9.0]]}]}"#,
        )
        .unwrap()
    }

    fn decode(decodes: u32, context: u64) -> (f64, bool) {
        let work = PassWork {
            decodes,
            context_tokens: u64::from(decodes) * context,
            ..PassWork::default()
        };
        let found = table().decode(work);
        (found.ms, found.extrapolated)
    }

    #[test]
    fn between_the_points_is_a_straight_line() {
        for (tokens, ms) in [(100, 10.0), (150, 20.0), (200, 30.0)] {
            let found = table().prefill(tokens);
            assert_eq!((found.ms, found.extrapolated), (ms, false), "{tokens}");
        }
        assert_eq!(decode(1, 2000), (5.0, false));
        assert_eq!(decode(5, 1500), (8.5, false));
        // Half the way from 5.0 to 9.0: the curves need not have the same points.
        assert_eq!(decode(3, 2000), (7.0, false));
    }

    #[test]
    fn outside_the_points_is_flagged() {
        let prefill = |tokens| {
            let found = table().prefill(tokens);
            (found.ms, found.extrapolated)
        };
        assert_eq!(prefill(300), (50.0, true));
        assert_eq!(prefill(50), (10.0, true));
        assert_eq!(decode(9, 1000), (12.0, true));
        assert_eq!(decode(1, 500), (4.0, true));
        // One of the two curves does not reach so far.
        assert_eq!(decode(3, 3000), (8.0, true));
        assert_eq!(decode(1, 3000), (6.0, false));
    }

    #[test]
    fn a_single_point_covers_itself() {
        let single = [(7, 3.0)];
        assert!(!along(&single, 7.0).extrapolated);
        for tokens in [6.0, 8.0] {
            let found = along(&single, tokens);
            assert_eq!((found.ms, found.extrapolated), (3.0, true));
        }
    }

    #[test]
    fn a_falling_curve_never_goes_below_zero() {
        assert_eq!(along(&[(1, 2.0), (2, 1.0)], 9.0).ms, 0.0);
    }

    #[test]
    fn wrong_points_are_named() {
        assert_eq!(table().fault(), None);
        let fault = |change: fn(&mut TimeTable)| {
            let mut table = table();
            change(&mut table);
            table.fault().unwrap()
        };
        let place = |change| fault(change).0;
        assert_eq!(place(|table| table.prefill.clear()), "prefill");
        assert_eq!(place(|table| table.decode.clear()), "decode");
        assert_eq!(
            place(|table| table.decode[1].requests = 1),
            "decode[1].requests"
        );
        assert_eq!(
            place(|table| table.decode[0].times.clear()),
            "decode[0].times"
        );
        let twice = fault(|table| table.prefill[1].0 = 100);
        assert_eq!(twice.1, "100 tokens follow 100");
        let never = fault(|table| table.prefill[1].1 = f64::NAN);
        assert_eq!(never.1, "NaN is not the time of a pass, ms");
    }
}
