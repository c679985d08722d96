//! Speed of the router's hot paths, printed as nanoseconds a block or an operation.
//!
//! `cargo bench -p kv-router [-- TRACE.jsonl]`: with a Mooncake trace the hash chains are its
//! own, cut into blocks of 16 tokens; without one they are generated.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use kv_router::{
    Candidate, KvEvent, OfflineRouter, PlaceRequest, RadixTree, RouterConfig, StoredBlock,
    WorkerConfig, block_hashes, sequence_hashes,
};

const BLOCK: usize = 16;
const TRACE_BLOCK: usize = 512;
/// KV capacity of one worker, blocks: 524,288 tokens.
const CAPACITY: usize = 32_768;

/// One prompt.
struct Prompt {
    isl: u32,
    local: Vec<u64>,
    chain: Vec<u64>,
}

impl Prompt {
    fn stored(&self, from: usize) -> Vec<StoredBlock> {
        let pairs = self.chain.iter().zip(&self.local).skip(from);
        pairs
            .map(|(&block_hash, &tokens_hash)| StoredBlock {
                block_hash,
                tokens_hash,
            })
            .collect()
    }
}

/// (input length, hash ids) of every row.
fn rows(trace: Option<&str>) -> Vec<(usize, Vec<u64>)> {
    let Some(path) = trace else {
        // Conversations of 1 to 8 turns that grow by 1 to 16 trace blocks a turn.
        let mut next = 0u64;
        let mut rows = Vec::new();
        for talk in 0..800u64 {
            let mut ids = vec![u64::MAX];
            for turn in 0..=talk % 8 {
                ids.extend(next..next + 1 + (talk * 7 + turn * 5) % 16);
                next = ids.last().expect("turns add ids") + 1;
                rows.push((ids.len() * TRACE_BLOCK - 100, ids.clone()));
            }
        }
        return rows;
    };
    let text = std::fs::read_to_string(path).expect("the trace can be read");
    text.lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).expect("rows are JSON");
            let ids = row["hash_ids"].as_array().expect("rows have hash_ids");
            let ids = ids
                .iter()
                .map(|id| id.as_u64().expect("ids are numbers"))
                .collect();
            (
                row["input_length"]
                    .as_u64()
                    .expect("rows have input_length") as usize,
                ids,
            )
        })
        .collect()
}

fn prompts(trace: Option<&str>) -> Vec<Prompt> {
    let mut known: HashMap<u64, Vec<u64>> = HashMap::new();
    rows(trace)
        .into_iter()
        .map(|(isl, ids)| {
            let mut local: Vec<u64> = Vec::new();
            for id in ids {
                local.extend_from_slice(known.entry(id).or_insert_with(|| {
                    let tokens: Vec<u32> = (0..TRACE_BLOCK as u32)
                        .map(|i| (id as u32).wrapping_mul(0x9E37_79B9) ^ i)
                        .collect();
                    block_hashes(&tokens, BLOCK, None)
                }));
            }
            local.truncate(isl / BLOCK);
            let chain = sequence_hashes(&local);
            Prompt {
                isl: isl as u32,
                local,
                chain,
            }
        })
        .collect()
}

fn report(what: &str, count: usize, unit: &str, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what:<44} {:>10.1} ns/{unit:<8} {count:>10} in {seconds:.3} s",
        seconds * 1e9 / count as f64
    );
}

/// Hits, stored and removed events as four workers with a first-in-first-out cache cause them.
fn index(prompts: &[Prompt], workers: u32) {
    let sources: Vec<_> = (0..workers).map(|id| Candidate::new(id, 0)).collect();
    let mut tree = RadixTree::new();
    let mut caches: Vec<std::collections::VecDeque<u64>> = vec![Default::default(); sources.len()];
    let mut found = Vec::new();
    let (mut matched, mut stored, mut removed) = (0, 0, 0);
    let mut seconds = [0.0; 3];
    for (i, prompt) in prompts.iter().enumerate() {
        let source = sources[i % sources.len()];
        let start = Instant::now();
        tree.find_matches(black_box(&prompt.chain), false, &mut found);
        seconds[0] += start.elapsed().as_secs_f64();
        matched += 1 + found.iter().map(|(_, n)| *n as usize).max().unwrap_or(0);
        let own = found.iter().find(|(candidate, _)| *candidate == source);
        let from = own.map_or(0, |(_, n)| *n as usize);
        let blocks = prompt.stored(from);
        let parent_hash = from.checked_sub(1).map(|last| prompt.chain[last]);
        let start = Instant::now();
        tree.apply(
            source,
            KvEvent::Stored {
                parent_hash,
                blocks: &blocks,
            },
        )
        .expect("it fits");
        seconds[1] += start.elapsed().as_secs_f64();
        stored += blocks.len();
        let cache = &mut caches[i % sources.len()];
        cache.extend(blocks.iter().map(|block| block.block_hash));
        let evicted: Vec<u64> = cache
            .drain(..cache.len().saturating_sub(CAPACITY))
            .collect();
        let start = Instant::now();
        tree.apply(
            source,
            KvEvent::Removed {
                block_hashes: &evicted,
            },
        )
        .expect("it fits");
        seconds[2] += start.elapsed().as_secs_f64();
        removed += evicted.len();
    }
    for (what, count, seconds) in [
        ("match", matched, seconds[0]),
        ("store", stored, seconds[1]),
        ("remove", removed, seconds[2]),
    ] {
        println!(
            "index, {workers:>2} workers: {what:<25} {:>10.1} ns/block    {count:>10} in {seconds:.3} s",
            seconds * 1e9 / count as f64
        );
    }
}

/// place, dispatch, prefill and end, with up to 64 requests in flight.
fn router(prompts: &[Prompt], workers: u32) {
    let workers: Vec<_> = (0..workers).map(|id| WorkerConfig::new(id, 1)).collect();
    let mut router = OfflineRouter::new(RouterConfig::default(), &workers).expect("it is valid");
    let start = Instant::now();
    for (i, prompt) in prompts.iter().enumerate() {
        let (id, now) = (i as u64, i as f64);
        let request = PlaceRequest {
            request_id: id,
            isl_tokens: prompt.isl,
            sequence_hashes: &prompt.chain,
            ..PlaceRequest::default()
        };
        let placed = router.place(now, &request).expect("there are workers");
        let at = placed.decision.expect("nothing queues").candidate;
        router
            .dispatch_committed(now, id, at)
            .expect("it was placed");
        if let Some(id) = id.checked_sub(32) {
            router.prefill_completed(now, id).expect("it was placed");
        }
        if let Some(id) = id.checked_sub(64) {
            router.request_terminal(now, id).expect("it was placed");
        }
    }
    let what = format!("router, {:>2} workers: life of a request", workers.len());
    report(&what, prompts.len(), "request", start);
}

/// Waiters looked at by one drain that frees one worker, with `pending` others in the queue.
fn backlog(pending: u64) {
    let config = RouterConfig {
        router_queue_threshold: Some(0.0),
        ..RouterConfig::default()
    };
    let workers = [WorkerConfig::new(0, 1), WorkerConfig::new(1, 1)];
    let mut router = OfflineRouter::new(config, &workers).expect("it is valid");
    let pin = |worker_id| {
        Some(kv_router::Pin {
            worker_id,
            dp_rank: Some(0),
        })
    };
    let request = |request_id, worker| PlaceRequest {
        request_id,
        isl_tokens: 64,
        pinned: pin(worker),
        ..PlaceRequest::default()
    };
    router.place(0.0, &request(0, 0)).expect("it is idle");
    router.place(0.0, &request(1, 1)).expect("it is idle");
    for id in 0..pending {
        router
            .place(0.0, &request(10 + id, 0))
            .expect("there is no limit");
    }
    router
        .place(0.0, &request(2, 1))
        .expect("there is no limit");
    let before = router.scheduler().drain_touches();
    let start = Instant::now();
    let released = router.request_terminal(1.0, 1).expect("it was placed");
    let nanos = start.elapsed().as_nanos();
    assert_eq!(released.len(), 1);
    let touched = router.scheduler().drain_touches() - before;
    println!("drain, {pending:>6} unrelated waiters: {touched} waiters touched, {nanos} ns");
}

fn main() {
    let trace = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let prompts = prompts(trace.as_deref());
    let blocks: usize = prompts.iter().map(|prompt| prompt.chain.len()).sum();
    println!(
        "{} prompts, {blocks} blocks of {BLOCK} tokens",
        prompts.len()
    );

    let tokens: Vec<u32> = (0..1 << 22).collect();
    let start = Instant::now();
    black_box(block_hashes(black_box(&tokens), BLOCK, None));
    report("block_hashes", tokens.len(), "token", start);
    let start = Instant::now();
    prompts
        .iter()
        .for_each(|prompt| drop(black_box(sequence_hashes(&prompt.local))));
    report("sequence_hashes", blocks, "block", start);

    for workers in [1, 4, 8, 64] {
        index(&prompts, workers);
    }
    for workers in [4, 8, 64] {
        router(&prompts, workers);
    }
    for pending in [128, 1024, 4096, 16_384] {
        backlog(pending);
    }
}
