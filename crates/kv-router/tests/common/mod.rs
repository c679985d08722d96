//! What the tests share: a router with short calls, prompts and events.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file uses its own part"
)]

use kv_router::{
    AffinityConfig, AffinityMode, Candidate, Decision, ErrorKind, KvEvent, OfflineRouter, Pin,
    PlaceRequest, RouterConfig, RouterError, SessionIdentity, StoredBlock, WorkerConfig,
    sequence_hashes,
};

pub const BLOCK: u32 = 16;

/// Local hashes of a prompt; prompts of different families share nothing.
pub fn local(family: u64, blocks: usize) -> Vec<u64> {
    (0..blocks as u64)
        .map(|i| 1_000_000 * (family + 1) + i)
        .collect()
}

/// Sequence hashes of a prompt.
pub fn chain(family: u64, blocks: usize) -> Vec<u64> {
    sequence_hashes(&local(family, blocks))
}

/// Blocks `from..to` of a prompt as an engine reports them.
pub fn blocks(family: u64, from: usize, to: usize) -> Vec<StoredBlock> {
    let pairs = local(family, to)
        .into_iter()
        .zip(chain(family, to))
        .skip(from);
    pairs
        .map(|(tokens_hash, block_hash)| StoredBlock {
            block_hash,
            tokens_hash,
        })
        .collect()
}

/// Stores the first `count` blocks of a prompt on a candidate.
pub fn store(router: &mut OfflineRouter, now_ms: f64, at: Candidate, family: u64, count: usize) {
    let event = KvEvent::Stored {
        parent_hash: None,
        blocks: &blocks(family, 0, count),
    };
    router
        .observe(now_ms, at, event)
        .expect("the candidate exists");
}

pub fn at(worker_id: u32, dp_rank: u32) -> Candidate {
    Candidate::new(worker_id, dp_rank)
}

pub fn pin(worker_id: u32, dp_rank: u32) -> Option<Pin> {
    Some(Pin {
        worker_id,
        dp_rank: Some(dp_rank),
    })
}

pub fn kind<T: std::fmt::Debug>(result: Result<T, RouterError>) -> ErrorKind {
    result.expect_err("the call is refused").kind()
}

/// Workers 0.. with `dp_size` ranks each and a budget of 160 tokens a pass.
pub fn workers(count: u32, dp_size: u32) -> Vec<WorkerConfig> {
    let worker = |id| WorkerConfig {
        max_num_batched_tokens: Some(160),
        ..WorkerConfig::new(id, dp_size)
    };
    (0..count).map(worker).collect()
}

pub fn router(config: RouterConfig, count: u32, dp_size: u32) -> OfflineRouter {
    OfflineRouter::new(config, &workers(count, dp_size)).expect("the configuration is valid")
}

/// Queueing as soon as a candidate has any prompt work.
pub fn queueing() -> RouterConfig {
    RouterConfig {
        router_queue_threshold: Some(0.0),
        ..RouterConfig::default()
    }
}

/// Session affinity on top of a configuration.
pub fn with_sessions(config: RouterConfig) -> RouterConfig {
    RouterConfig {
        affinity: Some(AffinityConfig::default()),
        ..config
    }
}

/// Sibling-group affinity on top of a configuration.
pub fn with_siblings(config: RouterConfig) -> RouterConfig {
    let affinity = AffinityConfig {
        mode: AffinityMode::SiblingGroup,
        ..AffinityConfig::default()
    };
    RouterConfig {
        affinity: Some(affinity),
        ..config
    }
}

/// A request of so many tokens without known blocks.
pub fn request(request_id: u64, isl_tokens: u32) -> PlaceRequest<'static> {
    PlaceRequest {
        request_id,
        isl_tokens,
        ..PlaceRequest::default()
    }
}

/// A request of a session of play "p".
pub fn in_session(request_id: u64, isl_tokens: u32, session: &str) -> PlaceRequest<'_> {
    PlaceRequest {
        session: Some(session_of("p", session)),
        ..request(request_id, isl_tokens)
    }
}

pub fn session_of<'a>(play: &'a str, session_id: &'a str) -> SessionIdentity<'a> {
    SessionIdentity {
        play,
        session_id,
        root: None,
        parent: None,
    }
}

pub fn ids(decisions: &[Decision]) -> Vec<u64> {
    decisions
        .iter()
        .map(|decision| decision.request_id)
        .collect()
}

/// Places a request that goes at once, and dispatches it.
pub fn run(router: &mut OfflineRouter, now_ms: f64, request: &PlaceRequest<'_>) -> Candidate {
    let at = staged(router, now_ms, request);
    router
        .dispatch_committed(now_ms, request.request_id, at)
        .expect("it was placed");
    at
}

/// Places a request that goes at once.
pub fn staged(router: &mut OfflineRouter, now_ms: f64, request: &PlaceRequest<'_>) -> Candidate {
    let placed = router.place(now_ms, request).expect("the request is valid");
    placed.decision.expect("the request goes at once").candidate
}

/// Places a request that has to wait.
pub fn waits(router: &mut OfflineRouter, now_ms: f64, request: &PlaceRequest<'_>) {
    let placed = router.place(now_ms, request).expect("the request is valid");
    assert_eq!(
        (placed.decision, placed.released.len()),
        (None, 0),
        "the request waits"
    );
}

/// Commits released placements where they were placed.
pub fn commit(router: &mut OfflineRouter, now_ms: f64, decisions: &[Decision]) -> Vec<Decision> {
    let mut released = Vec::new();
    for decision in decisions {
        let (id, at) = (decision.request_id, decision.candidate);
        released.extend(
            router
                .dispatch_committed(now_ms, id, at)
                .expect("it was placed"),
        );
    }
    released
}

/// The order in which a single busy worker serves what waits for it.
pub fn serve_all(router: &mut OfflineRouter, mut now_ms: f64, running: u64) -> Vec<u64> {
    let (mut order, mut id) = (vec![running], running);
    loop {
        now_ms += 10.0;
        let released = router.prefill_completed(now_ms, id).expect("it is placed");
        commit(router, now_ms, &released);
        match released.as_slice() {
            [] => return order,
            [next] => id = next.request_id,
            more => panic!("one worker took {more:?} at once"),
        }
        order.push(id);
    }
}
