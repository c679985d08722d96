//! Damaged files of every format: an error or a trace, never a crash.
//!
//! `REPLAY_FUZZ_CASES=1000000 cargo test -p replay --test fuzz_formats` tries as many.

mod common;

use std::ops::ControlFlow;

use common::{config, file};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use replay::Trace;
use serde_json::json;

const FORMATS: [(&str, &str); 5] = [
    (
        "mooncake",
        "{\"timestamp\": 7, \"session_id\": \"s\", \"input_length\": 20, \"output_length\": 3, \"hash_ids\": [1, 2]}\n",
    ),
    (
        "mooncake-delta",
        "{\"session_id\": \"s\", \"input_length\": 8, \"output_length\": 4, \"hash_ids\": [2]}\n",
    ),
    (
        "azure",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n",
    ),
    (
        "applied-compute-agentic",
        "{\"num_turns\": 1, \"input_prompt_length\": 20, \"assistant_response_length\": [4], \
         \"tool_call_output_length\": [6], \"tool_call_latency\": [0.2], \
         \"final_assistant_response_length\": 3}\n",
    ),
    (
        "dynamo",
        "{\"event\": {\"schema\": \"dynamo.request.trace.v1\", \"event_type\": \"request_end\", \
         \"request\": {\"request_id\": \"q\", \"output_tokens\": 2, \"request_received_ms\": 1000, \
         \"replay\": {\"trace_block_size\": 16, \"input_length\": 16, \
         \"input_sequence_hashes\": [77]}}}}\n",
    ),
];

/// Stretches that are wrong in some places and fine in others.
const ODD: [&[u8]; 12] = [
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"4294967296",
    b"null",
    b"\"",
    b"{",
    b"[[[[",
    b",",
    b"\n",
    b"\xff",
    b"\0",
];

fn cases() -> u32 {
    let given = std::env::var("REPLAY_FUZZ_CASES").ok();
    given.map_or(2000, |cases| cases.parse().expect("a number of cases"))
}

fn damaged() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let change = (any::<prop::sample::Index>(), 0..ODD.len(), 0..12usize);
    let changes = prop::collection::vec(change, 0..4);
    (0..FORMATS.len(), 1..4usize, 0..3u8, changes).prop_map(|(format, copies, packing, changes)| {
        let mut bytes = FORMATS[format].1.repeat(copies).into_bytes();
        if packing == 1 {
            bytes = gzip(&bytes);
        }
        if packing == 2 {
            bytes = zstd_raw(&bytes);
        }
        for (at, odd, removed) in changes {
            let from = at.index(bytes.len() + 1);
            let to = (from + removed).min(bytes.len());
            bytes.splice(from..to, ODD[odd].iter().copied());
        }
        (format, bytes)
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::read::GzEncoder::new(bytes, flate2::Compression::fast());
    let mut out = Vec::new();
    std::io::Read::read_to_end(&mut packed, &mut out).expect("memory can be read");
    out
}

/// One frame with one block that is not compressed.
fn zstd_raw(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let header = (bytes.len() as u32) << 3 | 1;
    out.extend_from_slice(&header.to_le_bytes()[..3]);
    out.extend_from_slice(bytes);
    out
}

fn read(format: usize, bytes: &[u8]) -> Result<Trace, replay::Error> {
    let config = config(json!({"trace": {"format": FORMATS[format].0}}));
    let path = file("");
    std::fs::write(&path, bytes).expect("the target folder can be written");
    let mut watch = |_| ControlFlow::Continue(());
    let found = Trace::validate(std::slice::from_ref(&path), &config.trace, 10, &mut watch);
    std::fs::remove_file(path).expect("the trace is still there");
    found.map(|(trace, _, _)| trace)
}

#[test]
fn undamaged_files_are_read() {
    for (format, (name, text)) in FORMATS.into_iter().enumerate() {
        let plain = read(format, text.as_bytes()).expect(name).requests;
        assert!(!plain.is_empty(), "{name}");
        for packed in [gzip(text.as_bytes()), zstd_raw(text.as_bytes())] {
            assert_eq!(read(format, &packed).expect(name).requests, plain, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_file_makes_a_loader_panic((format, bytes) in damaged()) {
        if let Ok(trace) = read(format, &bytes) {
            prop_assert!(trace.requests.iter().all(|request| request.input > 0));
        }
    }
}
