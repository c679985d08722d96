//! The figures of a replay.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::distribution::{Distribution, STATISTICS};
use crate::config::ReplayConfig;
use crate::ledger::{NEVER, Record, Status};
use crate::sim::Outcome;
use crate::time;
use crate::trace::Trace;

/// The figures of a replay, under the names of the field. Times are simulated.
#[derive(Clone, Debug)]
pub struct Summary {
    figures: Vec<(&'static str, Figure)>,
    distributions: Vec<(&'static str, Option<Distribution>)>,
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// A count.
    Count(u64),
    /// A measured number; `None` = there is nothing to measure.
    Number(Option<f64>),
    /// A name.
    Name(&'static str),
}

impl From<u64> for Figure {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Figure {
    fn from(number: f64) -> Self {
        Self::Number(Some(number))
    }
}

impl Summary {
    pub(super) fn new(trace: &Trace, config: &ReplayConfig, outcome: &mut Outcome) -> Self {
        let totals = Totals::new(trace, config, outcome);
        let mut figures = totals.counts(outcome);
        figures.extend(totals.rates());
        figures.extend(totals.resources(config));
        let distributions = distributions(&mut figures, trace, outcome);
        figures.extend(totals.goodput(config));
        Self {
            figures,
            distributions,
        }
    }

    /// A figure by its name.
    pub fn figure(&self, name: &str) -> Option<Figure> {
        self.figures
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, figure)| figure)
    }

    /// A distribution by the name of what it measures, such as `ttft_ms`.
    pub fn distribution(&self, name: &str) -> Option<Distribution> {
        self.distributions
            .iter()
            .find(|(known, _)| *known == name)?
            .1
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, figure) in &self.figures {
            map.serialize_entry(name, figure)?;
        }
        for (name, distribution) in &self.distributions {
            for (at, statistic) in STATISTICS.iter().enumerate() {
                let value = distribution.map(|found| found.values()[at]);
                map.serialize_entry(&format!("{statistic}_{name}"), &value)?;
            }
        }
        map.end()
    }
}

struct Totals {
    completed: u64,
    rejected: u64,
    input: u64,
    output: u64,
    arrived_input: u64,
    max_reused: u64,
    first_reused: u64,
    preemptions: u64,
    duration_ms: f64,
    good_requests: u64,
    good_output: u64,
}

impl Totals {
    fn new(trace: &Trace, config: &ReplayConfig, outcome: &Outcome) -> Self {
        let mut totals = Self {
            completed: 0,
            rejected: 0,
            input: 0,
            output: 0,
            arrived_input: 0,
            max_reused: 0,
            first_reused: 0,
            preemptions: outcome.ledger.readmissions.len() as u64,
            duration_ms: 0.0,
            good_requests: 0,
            good_output: 0,
        };
        let mut last = 0;
        for (record, request) in outcome.ledger.records.iter().zip(&trace.requests) {
            match record.status {
                Status::Pending => continue,
                Status::Rejected(_) => totals.rejected += 1,
                Status::Completed => {
                    totals.completed += 1;
                    totals.input += u64::from(request.input);
                    totals.output += u64::from(record.output);
                    last = last.max(record.terminal);
                    if is_good(record, config) {
                        totals.good_requests += 1;
                        totals.good_output += u64::from(record.output);
                    }
                }
            }
            totals.arrived_input += u64::from(request.input);
            totals.max_reused += u64::from(record.max_reused);
            totals.first_reused += u64::from(record.first_reused);
        }
        totals.duration_ms = time::to_ms(if outcome.cut { outcome.end } else { last });
        totals
    }

    fn per_second(&self, amount: u64) -> Figure {
        (amount as f64 / (self.duration_ms / 1e3).max(1e-9)).into()
    }

    fn counts(&self, outcome: &Outcome) -> Vec<(&'static str, Figure)> {
        vec![
            ("num_requests", outcome.arrived.into()),
            ("completed_requests", self.completed.into()),
            ("rejected_requests", self.rejected.into()),
            (
                "unfinished_requests",
                (outcome.arrived - self.completed - self.rejected).into(),
            ),
            ("total_input_tokens", self.input.into()),
            ("total_output_tokens", self.output.into()),
            ("processed_tokens", (self.input + self.output).into()),
            (
                "committed_prefill_tokens",
                outcome.ledger.prefill_tokens.into(),
            ),
            ("preemptions", self.preemptions.into()),
            ("forward_passes", outcome.ledger.passes.into()),
            (
                "extrapolated_passes",
                outcome.ledger.extrapolated.passes.into(),
            ),
        ]
    }

    fn rates(&self) -> Vec<(&'static str, Figure)> {
        vec![
            ("duration_ms", self.duration_ms.into()),
            ("request_throughput_rps", self.per_second(self.completed)),
            ("input_throughput_tok_s", self.per_second(self.input)),
            ("output_throughput_tok_s", self.per_second(self.output)),
            (
                "total_throughput_tok_s",
                self.per_second(self.input + self.output),
            ),
        ]
    }

    fn resources(&self, config: &ReplayConfig) -> Vec<(&'static str, Figure)> {
        let worker_seconds = f64::from(config.cluster.workers) * self.duration_ms / 1e3;
        let gpus =
            u64::from(config.engine.tensor_parallel_size) * u64::from(config.cluster.dp_size);
        let ratio = |tokens: u64| match self.arrived_input {
            0 => Figure::Number(None),
            input => (tokens as f64 / input as f64).into(),
        };
        vec![
            ("prefill_worker_seconds", 0.0.into()),
            // A pool that does both is reported under decode.
            ("decode_worker_seconds", worker_seconds.into()),
            ("prefill_gpus_per_worker", 0.into()),
            ("decode_gpus_per_worker", gpus.into()),
            ("gpu_hours", (worker_seconds * gpus as f64 / 3600.0).into()),
            ("power_w", Figure::Number(None)),
            ("power_coverage", Figure::Number(None)),
            ("prefix_cache_reused_ratio", ratio(self.max_reused)),
            (
                "first_admission_prefix_cache_reused_ratio",
                ratio(self.first_reused),
            ),
            ("kv_eviction_policy", Figure::Name("lru")),
        ]
    }

    fn goodput(&self, config: &ReplayConfig) -> Vec<(&'static str, Figure)> {
        if config.sla == Default::default() {
            return Vec::new();
        }
        vec![
            ("goodput_completed_requests", self.good_requests.into()),
            (
                "goodput_request_throughput_rps",
                self.per_second(self.good_requests),
            ),
            (
                "goodput_output_throughput_tok_s",
                self.per_second(self.good_output),
            ),
        ]
    }
}

fn is_good(record: &Record, config: &ReplayConfig) -> bool {
    if record.output == 0 {
        return false;
    }
    let ttft = time::to_ms(record.first_token - record.arrival);
    let itl = per_request_itl(record).unwrap_or(0.0);
    config.sla.ttft_ms.is_none_or(|bound| ttft <= bound)
        && config.sla.itl_ms.is_none_or(|bound| itl <= bound)
}

/// Mean gap between the tokens of a request, ms; `None` with fewer than two tokens.
pub(super) fn per_request_itl(record: &Record) -> Option<f64> {
    let gaps = record.output.checked_sub(1).filter(|&gaps| gaps > 0)?;
    Some(time::to_ms(record.last_token - record.first_token) / f64::from(gaps))
}

fn distributions(
    figures: &mut Vec<(&'static str, Figure)>,
    trace: &Trace,
    outcome: &mut Outcome,
) -> Vec<(&'static str, Option<Distribution>)> {
    debug_assert_eq!(trace.requests.len(), outcome.ledger.records.len());
    let completed = outcome.ledger.records.iter();
    let completed: Vec<_> = completed
        .filter(|record| record.status == Status::Completed && record.output > 0)
        .collect();
    let ttft = completed
        .iter()
        .map(|record| record.first_token - record.arrival)
        .collect();
    let ttst = completed
        .iter()
        .filter(|record| record.second_token != NEVER)
        .map(|record| record.second_token - record.first_token)
        .collect();
    let tpot: Vec<f64> = completed
        .iter()
        .filter_map(|record| per_request_itl(record))
        .collect();
    let e2e = completed
        .iter()
        .map(|record| record.last_token - record.arrival)
        .collect();
    figures.push(("num_ttft_samples", (completed.len() as u64).into()));
    figures.push(("num_tpot_samples", (tpot.len() as u64).into()));
    figures.push(("num_e2e_latency_samples", (completed.len() as u64).into()));
    let (ttft, ttst) = (Distribution::of_spans(ttft), Distribution::of_spans(ttst));
    let (tpot, e2e) = (Distribution::of(tpot), Distribution::of_spans(e2e));
    let gaps = outcome.ledger.gaps.sorted();
    let itl = gaps.iter().map(|&(gap, count)| (time::to_ms(gap), count));
    let rate = gaps
        .iter()
        .rev()
        .filter(|&&(gap, _)| gap > 0)
        .map(|&(gap, count)| (1000.0 / time::to_ms(gap), count));
    vec![
        ("ttft_ms", ttft),
        ("ttst_ms", ttst),
        ("tpot_ms", tpot),
        ("itl_ms", Distribution::of_weighted(itl)),
        ("e2e_latency_ms", e2e),
        (
            "output_token_throughput_per_user",
            Distribution::of_weighted(rate),
        ),
    ]
}
