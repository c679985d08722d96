//! Random commands, most of them valid.

use proptest::prelude::*;

use crate::hash::sequence_hashes;
use crate::types::{Candidate, DpRank, Pin, RequestId, WorkerId};
use crate::{
    AffinityConfig, AffinityMode, BindingMode, ClassConfig, PolicyConfig, PrefillLoadModel,
    QueuePolicy, RouterConfig,
};

/// One call to the router.
#[derive(Clone, Debug)]
pub(super) enum Command {
    Place(Place),
    Store {
        source: Candidate,
        family: u64,
        from: usize,
        to: usize,
    },
    Remove {
        source: Candidate,
        family: u64,
        blocks: Vec<usize>,
    },
    Clear {
        source: Candidate,
    },
    PrefillCompleted(RequestId),
    /// `true`: at the placement; else at the candidate.
    Committed(RequestId, bool, Candidate),
    Aborted(RequestId),
    Terminal(RequestId),
    Cancel(RequestId),
    OutputBlock(RequestId, Option<f64>),
    Ready {
        worker: WorkerId,
        dp_size: u32,
        tainted: bool,
    },
    Draining(WorkerId),
    Fenced(WorkerId),
    Removed(WorkerId),
    Overloaded(WorkerId, bool),
    Settled,
    Advance,
}

/// The interesting fields of a request.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) id: RequestId,
    pub(super) family: u64,
    pub(super) isl: u32,
    pub(super) session: u8,
    pub(super) priority_jump: f64,
    pub(super) strict_priority: i32,
    pub(super) due_ms: Option<f64>,
    pub(super) policy_class: Option<&'static str>,
    pub(super) pinned: Option<Pin>,
    pub(super) needs_taint: bool,
    pub(super) expected_prefill_ms: Option<f64>,
}

pub(super) const BLOCK: u32 = 4;

/// Local hashes of a prompt family: families share their first two blocks.
pub(super) fn local(family: u64, blocks: usize) -> Vec<u64> {
    (0..blocks as u64)
        .map(|i| {
            if i < 2 {
                900 + i
            } else {
                1000 * (family + 1) + i
            }
        })
        .collect()
}

/// Sequence hashes of a prompt family.
pub(super) fn chain(family: u64, blocks: usize) -> Vec<u64> {
    sequence_hashes(&local(family, blocks))
}

fn candidate() -> impl Strategy<Value = Candidate> {
    (0..4u32, 0..3 as DpRank).prop_map(|(worker, rank)| Candidate::new(worker, rank))
}

fn place() -> impl Strategy<Value = Place> {
    let what = (
        0..24u64,
        0..4u64,
        prop_oneof![1 => Just(0u32), 30 => 1..60u32],
        0..5u8,
    );
    let priority = (
        prop_oneof![8 => Just(0.0), 2 => 0.0..9.0f64, 1 => Just(f64::NAN)],
        prop_oneof![8 => Just(0), 2 => -1..3],
        prop::option::weighted(0.1, 0.0..100.0f64),
        prop::option::weighted(0.3, prop::sample::select(vec!["small", "other", "nobody"])),
    );
    let pin = (0..4u32, prop::option::of(0..3u32))
        .prop_map(|(worker_id, dp_rank)| Pin { worker_id, dp_rank });
    let constraint = (
        prop::option::weighted(0.3, pin),
        prop::bool::weighted(0.1),
        prop::option::of(0.0..20.0f64),
    );
    (what, priority, constraint).prop_map(|(what, priority, constraint)| Place {
        id: what.0,
        family: what.1,
        isl: what.2,
        session: what.3,
        priority_jump: priority.0,
        strict_priority: priority.1,
        due_ms: priority.2,
        policy_class: priority.3,
        pinned: constraint.0,
        needs_taint: constraint.1,
        expected_prefill_ms: constraint.2,
    })
}

/// A time step and a command; the step can be a bad clock.
pub(super) fn step() -> impl Strategy<Value = (f64, Command)> {
    let id = || 0..24u64;
    let worker = || 0..4u32;
    let dt = prop_oneof![
        40 => Just(0.0),
        40 => 0.0..5.0f64,
        2 => 500.0..4000.0f64,
        1 => Just(-1.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(1e300),
    ];
    let command = prop_oneof![
        30 => place().prop_map(Command::Place),
        6 => (candidate(), 0..4u64, 0..8usize, 0..12usize)
            .prop_map(|(source, family, from, to)| Command::Store { source, family, from, to }),
        3 => (candidate(), 0..4u64, prop::collection::vec(0..12usize, 0..5))
            .prop_map(|(source, family, blocks)| Command::Remove { source, family, blocks }),
        1 => candidate().prop_map(|source| Command::Clear { source }),
        10 => id().prop_map(Command::PrefillCompleted),
        14 => (id(), prop::bool::weighted(0.9), candidate())
            .prop_map(|(id, right, at)| Command::Committed(id, right, at)),
        4 => id().prop_map(Command::Aborted),
        12 => id().prop_map(Command::Terminal),
        4 => id().prop_map(Command::Cancel),
        3 => (id(), prop::option::of(-0.1..1.1f64)).prop_map(|(id, f)| Command::OutputBlock(id, f)),
        5 => (worker(), 0..4u32, any::<bool>())
            .prop_map(|(worker, dp_size, tainted)| Command::Ready { worker, dp_size, tainted }),
        2 => worker().prop_map(Command::Draining),
        1 => worker().prop_map(Command::Fenced),
        3 => worker().prop_map(Command::Removed),
        3 => (worker(), any::<bool>()).prop_map(|(worker, on)| Command::Overloaded(worker, on)),
        1 => Just(Command::Settled),
        3 => Just(Command::Advance),
    ];
    (dt, command)
}

/// A router configuration, with queueing and sessions most of the time.
pub(super) fn config() -> impl Strategy<Value = RouterConfig> {
    let policy = prop::sample::select(vec![
        QueuePolicy::Fcfs,
        QueuePolicy::Lcfs,
        QueuePolicy::Wspt,
    ]);
    let affinity = (any::<bool>(), any::<bool>()).prop_map(|(siblings, soft)| AffinityConfig {
        mode: if siblings {
            AffinityMode::SiblingGroup
        } else {
            AffinityMode::Session
        },
        ttl_secs: 1.25,
        binding: if soft {
            BindingMode::Soft
        } else {
            BindingMode::Hard
        },
        max_entries: 4,
    });
    (
        any::<u64>(),
        prop::option::weighted(0.8, prop::sample::select(vec![0.0, 0.1, 1.0])),
        policy.clone(),
        prop::option::weighted(0.6, affinity),
        prop::option::weighted(0.4, policy),
        (
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            0..4u8,
        ),
    )
        .prop_map(
            |(seed, threshold, policy, affinity, classes, switches)| RouterConfig {
                seed,
                block_size: BLOCK,
                router_queue_threshold: threshold,
                router_queue_policy: policy,
                router_policy_config: classes.map(|policy| PolicyConfig {
                    default_family: "small".into(),
                    classes: vec![
                        ClassConfig::new("small", "small", policy),
                        ClassConfig {
                            cache_bucket: 20,
                            busy_worker_ratio: Some(0.5),
                            ..ClassConfig::new("large", "small", policy)
                        },
                        ClassConfig {
                            quantum: 3,
                            request_queue_limit_per_worker: Some(1),
                            prefill_busy_threshold: Some(10),
                            ..ClassConfig::new("other", "other", QueuePolicy::Fcfs)
                        },
                    ],
                }),
                affinity,
                router_temperature: if switches.0 { 0.5 } else { 0.0 },
                router_assume_kv_reuse: !switches.1 || switches.0,
                router_track_output_blocks: switches.2,
                router_prefill_load_model: match switches.3 {
                    true => PrefillLoadModel::Ais,
                    false => PrefillLoadModel::None,
                },
                use_kv_events: switches.4 != 0,
                router_ttl_secs: 0.01,
                router_predicted_ttl_secs: (switches.4 == 1).then_some(0.01),
                wspt_max_wait_ms: 50.0,
                evidence_limit: 8,
                ..RouterConfig::default()
            },
        )
}
