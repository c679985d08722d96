//! What the loader accepts, warns about and refuses.

mod common;

use std::io::Write;
use std::ops::ControlFlow;

use common::{config, file, load};
use proptest::prelude::*;
use replay::{Error, Trace};
use serde_json::json;

const GOOD: &str =
    r#"{"timestamp": 7, "input_length": 20, "output_length": 3, "hash_ids": [1, 2]}"#;

fn trace(text: &str) -> Trace {
    load(text, &config(json!({}))).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What is wrong with the line, after checking that it is the right one.
fn refused(text: &str, line: u64) -> String {
    match load(text, &config(json!({}))) {
        Err(Error::Trace(error)) => {
            assert_eq!(error.line, Some(line), "{text}: {error}");
            assert!(!error.problem.expected.is_empty() && !error.problem.fix.is_empty());
            error.problem.what
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// The good line with a field changed (`None` removes it).
fn changed(field: &str, value: Option<&str>) -> String {
    let mut row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(GOOD).unwrap();
    row.remove(field);
    let mut text = serde_json::to_string(&row).unwrap();
    if let Some(value) = value {
        text.truncate(text.len() - 1);
        text += &format!(", {field:?}: {value}}}");
    }
    text
}

#[test]
fn a_plain_row_is_read() {
    let trace = trace(GOOD);
    let request = &trace.requests[0];
    assert_eq!(
        (request.at, request.input, request.output, request.turn),
        (0, 20, 3, 0)
    );
    assert_eq!(trace.request_name(0), "request_1");
    assert!(trace.warnings.is_empty());
    assert_eq!(trace.sources[0].sha256.len(), 64);
}

#[test]
fn other_names_of_fields_mean_the_same() {
    let other =
        r#"{"created_time": 7, "input_tokens": 20, "output_tokens": 3, "hash_ids": [1, 2]}"#;
    assert_eq!(trace(other).requests, trace(GOOD).requests);
}

#[test]
fn without_an_input_length_the_blocks_are_full() {
    assert_eq!(trace(&changed("input_length", None)).requests[0].input, 32);
}

#[test]
fn wrong_values_are_refused() {
    let message = |field, value| refused(&format!("{GOOD}\n{}", changed(field, Some(value))), 2);
    for (field, value, what) in [
        ("input_length", "0", "input_length is 0"),
        ("input_length", "-5", "input_length is -5"),
        ("input_length", "1.5", "input_length is 1.5"),
        ("input_length", "\"20\"", "input_length is \"20\""),
        ("input_length", "true", "input_length is true"),
        ("input_length", "[20]", "input_length is a list"),
        (
            "input_length",
            "33",
            "2 hash ids cover 32 tokens, but input_length is 33",
        ),
        ("output_length", "-1", "output_length is -1"),
        ("output_length", "1000000001", "output_length is 1000000001"),
        ("output_length", "null", "output_length is missing"),
        ("timestamp", "\"now\"", "timestamp is \"now\""),
        ("timestamp", "{}", "timestamp is an object"),
        (
            "timestamp",
            "NaN",
            "column 69: NaN and Infinity are not JSON",
        ),
        ("hash_ids", "[]", "hash_ids is missing"),
        ("hash_ids", "null", "the list of ids is null"),
        ("hash_ids", "5", "the list of ids is 5"),
        ("hash_ids", "[1, -2]", "entry 2 of the list of ids is -2"),
        ("hash_ids", "[1, 2.5]", "entry 2 of the list of ids is 2.5"),
        (
            "hash_ids",
            "[1, \"2\"]",
            "entry 2 of the list of ids is \"2\"",
        ),
        (
            "hash_ids",
            "[18446744073709551616, 2]",
            "entry 1 of the list of ids is 18446744073709552000",
        ),
        ("delay", "5", "a delay on a request that follows no other"),
        ("delay_ms", "-5", "delay_ms is -5"),
        ("request_id", "[]", "request_id is a list"),
        ("priority", "-1", "priority is -1"),
        ("strict_priority", "0.5", "strict_priority is 0.5"),
        (
            "strict_priority",
            "3000000000",
            "strict_priority is 3000000000",
        ),
        ("session_id", "\"\"", "session_id is \"\""),
        (
            "output_token_ids",
            "[1, 2]",
            "2 output_token_ids for output_length 3",
        ),
        (
            "input_tokens",
            "20",
            "input_tokens is given twice, or under both of its names",
        ),
    ] {
        assert_eq!(message(field, value), what, "{field}: {value}");
    }
}

#[test]
fn missing_fields_are_named() {
    for field in ["output_length", "hash_ids"] {
        assert_eq!(
            refused(&changed(field, None), 1),
            format!("{field} is missing")
        );
    }
}

#[test]
fn what_is_not_a_json_object_is_refused_with_its_line() {
    let deep = "[".repeat(100_000);
    let cut = &GOOD[..40];
    for line in ["[1]", "5", "{", "{} {}", "hello", cut, deep.as_str()] {
        let what = refused(&format!("{GOOD}\n\n{line}\n"), 3);
        assert!(what.starts_with("not a JSON object"), "{what}");
    }
    let nested = changed(
        "extra",
        Some(&format!("{}{}", "[".repeat(1000), "]".repeat(1000))),
    );
    assert!(
        load(&nested, &config(json!({}))).is_ok(),
        "an unknown field may be deep"
    );
}

#[test]
fn a_nul_byte_is_refused_and_text_that_is_not_utf8() {
    assert_eq!(refused(&format!("{GOOD}\n\0"), 2), "holds a NUL byte");
    let path = file("");
    std::fs::write(&path, [GOOD.as_bytes(), b"\n\xff\n"].concat()).unwrap();
    let error = Trace::load(&[path], &config(json!({})).trace, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains(":2: byte 1 of the line is not UTF-8")
    );
}

#[test]
fn a_byte_order_mark_and_other_line_ends_mean_nothing() {
    let odd = format!("\u{feff}{GOOD}\r\n\r\n{GOOD}");
    assert_eq!(
        trace(&odd).requests,
        trace(&format!("{GOOD}\n{GOOD}\n")).requests
    );
}

#[test]
fn a_file_without_requests_is_refused() {
    for text in ["", "\n \n"] {
        let error = load(text, &config(json!({}))).unwrap_err().to_string();
        assert!(error.contains("holds no requests"), "{error}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let load = |path: &str| {
        let config = config(json!({}));
        let paths = [path.into()];
        Trace::load(&paths, &config.trace, &mut |_| ControlFlow::Continue(()))
            .unwrap_err()
            .to_string()
    };
    assert!(load("/nowhere/trace.jsonl").starts_with("/nowhere/trace.jsonl: cannot be read"));
    assert!(load(env!("CARGO_TARGET_TMPDIR")).contains(": is a directory"));
}

#[test]
fn gzip_is_read_and_a_cut_gzip_is_refused() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    for _ in 0..100 {
        writeln!(packed, "{GOOD}").unwrap();
    }
    let packed = packed.finish().unwrap();
    assert_eq!(read(&packed).unwrap().requests.len(), 100);
    let error = read(&packed[..packed.len() / 2]).unwrap_err().to_string();
    assert!(error.contains("cannot be read on"), "{error}");
}

/// Reads a file of these bytes.
fn read(bytes: &[u8]) -> Result<Trace, Error> {
    let path = file("");
    std::fs::write(&path, bytes).unwrap();
    let config = config(json!({}));
    let trace = Trace::load(std::slice::from_ref(&path), &config.trace, &mut |_| {
        ControlFlow::Continue(())
    });
    std::fs::remove_file(path).unwrap();
    trace
}

/// A row with a timestamp of 7, 20 prompt tokens and hash ids 1 and 2, three times: one frame of
/// `zstd -19`, with a checksum.
const ZSTD: [u8; 81] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x24, 0xe7, 0x25, 0x02, 0x00, 0x02, 0x04, 0x0e, 0x11, 0xa0, 0x6f, 0x05,
    0xca, 0xb1, 0xf5, 0xbb, 0x4d, 0xd7, 0xff, 0x86, 0xf5, 0x24, 0x12, 0xaa, 0x78, 0x1e, 0x20, 0x27,
    0xd2, 0x61, 0xa0, 0x3e, 0x6e, 0x19, 0x54, 0xcf, 0xae, 0xe7, 0x1d, 0xca, 0x5f, 0xea, 0x1d, 0x04,
    0xe9, 0xe3, 0xef, 0xdd, 0x6c, 0x51, 0xfd, 0xad, 0x13, 0x7a, 0x07, 0xd3, 0xc7, 0xab, 0x5c, 0x6f,
    0x9b, 0x84, 0xef, 0x38, 0x02, 0x00, 0x2f, 0x50, 0xa0, 0x5a, 0xf0, 0x98, 0x65, 0x61, 0x25, 0x04,
    0x37,
];

#[test]
fn zstd_is_read_frame_by_frame() {
    let plain = trace(&format!("{GOOD}\n{GOOD}\n{GOOD}"));
    assert_eq!(read(&ZSTD).unwrap().requests, plain.requests);
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'a', b'b', b'c'];
    let frames = [&ZSTD[..], &skippable, &ZSTD].concat();
    let both = read(&frames).unwrap();
    assert_eq!(both.requests.len(), 6);
    assert_ne!(
        both.sources[0].sha256,
        read(&ZSTD).unwrap().sources[0].sha256
    );
}

#[test]
fn a_damaged_zstd_file_is_refused() {
    for end in 4..ZSTD.len() {
        let error = read(&ZSTD[..end]).unwrap_err().to_string();
        assert!(
            error.contains(":1: cannot be read on"),
            "cut at {end}: {error}"
        );
    }
    for at in 4..ZSTD.len() {
        let mut odd = ZSTD;
        odd[at] ^= 4;
        assert!(read(&odd).is_err(), "byte {at}");
    }
    let trailing = [&ZSTD[..], b"more"].concat();
    assert!(
        read(&trailing)
            .unwrap_err()
            .to_string()
            .contains(":4: cannot be read on")
    );
}

#[test]
fn decompression_bombs_end_soon() {
    // Blocks of one repeated byte: four bytes are 128 KiB.
    let bomb = |byte: u8, window: u8| {
        let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, window];
        for _ in 0..100_000 {
            bytes.extend_from_slice(&((1_u32 << 17 << 3) | 2).to_le_bytes()[..3]);
            bytes.push(byte);
        }
        read(&bytes).unwrap_err().to_string()
    };
    let (window_128_kib, window_1_gib) = (7 << 3, 20 << 3);
    assert!(bomb(b'x', window_128_kib).contains(":1: the line is longer than 64 MiB"));
    assert!(bomb(b'\n', window_128_kib).contains("the blank lines up to this one are longer"));
    assert!(bomb(b'x', window_1_gib).contains(":1: cannot be read on"));
}

#[test]
fn a_number_never_takes_the_name_of_another_row() {
    let named = changed("request_id", Some("\"request_1\""));
    let other = changed("request_id", Some("\"request_1_\""));
    let trace = trace(&format!("{GOOD}\n{named}\n{other}\n{GOOD}"));
    let names: Vec<_> = (0..4).map(|index| trace.request_name(index)).collect();
    assert_eq!(
        names,
        ["request_1__", "request_1", "request_1_", "request_4"]
    );
}

#[test]
fn a_request_id_is_given_once() {
    let row = changed("request_id", Some("\"a\""));
    let other = changed("request_id", Some("7"));
    let both = trace(&format!("{row}\n{other}\n{GOOD}"));
    assert_eq!(both.request_name(0), "a");
    assert_eq!(both.request_name(1), "7");
    assert_eq!(both.request_name(2), "request_3");
    let what = refused(&format!("{row}\n{GOOD}\n{row}"), 3);
    assert_eq!(what, "request_id \"a\" was given on line 1 already");
}

#[test]
fn unknown_fields_are_named_once_with_their_line() {
    let odd = changed("temperture", Some("0.5"));
    let found = trace(&format!("{GOOD}\n{odd}\n{odd}")).warnings;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code, found[0].count), ("unknown-field", 2));
    assert_eq!(found[0].place.line, 2);
    assert!(found[0].what.contains("temperture"));
}

#[test]
fn fields_without_effect_and_surplus_ids_are_named() {
    let codes = |text: &str| -> Vec<&str> {
        trace(text)
            .warnings
            .iter()
            .map(|warning| warning.code)
            .collect()
    };
    assert_eq!(
        codes(&changed("policy_class", Some("\"a\""))),
        ["unused-field"]
    );
    assert_eq!(
        codes(&changed("output_token_ids", Some("[1, 2, 3]"))),
        ["unused-field"]
    );
    assert_eq!(
        codes(&changed("hash_ids", Some("[1, 2, 3]"))),
        ["surplus-hash-ids"]
    );
    assert_eq!(codes(&changed("timestamp", None)), ["missing-timestamp"]);
    assert_eq!(codes(GOOD), [""; 0]);
}

#[test]
fn time_starts_with_the_first_arrival_and_a_missing_timestamp_is_zero() {
    let at = |text: &str| -> Vec<u64> {
        trace(text)
            .requests
            .iter()
            .map(|request| request.at / 1_000_000)
            .collect()
    };
    let row = |time: &str| changed("timestamp", Some(time));
    assert_eq!(at(&format!("{}\n{}", row("150"), row("100"))), [50, 0]);
    assert_eq!(
        at(&format!("{}\n{}", changed("timestamp", None), row("100"))),
        [0, 100]
    );
    let error = load(
        &format!("{}\n{}", row("0"), row("1e13")),
        &config(json!({})),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the trace spans 10000000000000 ms"),
        "{error}"
    );
}

#[test]
fn turns_of_a_session_follow_each_other() {
    let row = |extra: &str| {
        format!(
            r#"{{"session_id": "s", "input_length": 16, "output_length": 1, "hash_ids": [1], {extra}}}"#
        )
    };
    let delays = |rows: &[String]| -> Vec<(u32, u64)> {
        let found = trace(&rows.join("\n"));
        found
            .requests
            .iter()
            .map(|turn| (turn.turn, turn.delay / 1_000_000))
            .collect()
    };
    let rows = [
        row("\"timestamp\": 100"),
        row("\"timestamp\": 130"),
        row("\"delay\": 7"),
    ];
    assert_eq!(delays(&rows), [(0, 0), (1, 30), (2, 7)]);
    let backwards = [row("\"timestamp\": 100"), row("\"timestamp\": 99")].join("\n");
    assert!(refused(&backwards, 2).contains("-1 ms after the one before it"));
}

#[test]
fn block_size_of_the_trace_decides_how_many_ids_are_needed() {
    let config = config(json!({"trace": {"block_size": 512}}));
    let text = r#"{"timestamp": 0, "input_length": 513, "output_length": 1, "hash_ids": [1]}"#;
    let error = load(text, &config).unwrap_err().to_string();
    assert!(
        error.contains("expected 2 hash ids of 512 tokens"),
        "{error}"
    );
    assert!(error.contains("--trace-block-size"), "{error}");
}

#[test]
fn several_files_are_one_trace() {
    let paths = [file(GOOD), file(&changed("timestamp", Some("9")))];
    let config = config(json!({}));
    let found = Trace::load(&paths, &config.trace, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(found.requests.len(), 2);
    assert_eq!(found.requests[1].at, 2_000_000);
    assert_eq!(found.requests[0].leaf, found.requests[1].leaf);
    assert_eq!(found.sources.len(), 2);
}

#[test]
fn validation_names_every_wrong_line_and_wrong_lines_change_nothing() {
    let named = changed("request_id", Some("\"a\""));
    let late = format!(
        "{}, \"session_id\": \"s\", \"delay\": 5}}",
        &changed("timestamp", None).trim_end_matches('}')
    );
    let lines = [
        GOOD.to_string(),
        changed("input_length", Some("0")),
        // The first turn of a session must not have a delay, so it does not open the session.
        late.clone(),
        changed("session_id", Some("\"s\"")),
        late,
        named.clone(),
        named,
        "{".to_string(),
    ];
    let paths = [file(&lines.join("\n"))];
    let trace = config(json!({})).trace;
    let mut watch = |_| ControlFlow::Continue(());
    let (found, wrong, count) = Trace::validate(&paths, &trace, 3, &mut watch).unwrap();
    assert_eq!(
        wrong
            .iter()
            .filter_map(|error| error.line)
            .collect::<Vec<_>>(),
        [2, 3, 7]
    );
    assert_eq!(count, 4);
    assert_eq!(
        found
            .requests
            .iter()
            .map(|request| request.turn)
            .collect::<Vec<_>>(),
        [0, 0, 1, 0]
    );
    let (_, wrong, count) = Trace::validate(&[file(GOOD)], &trace, 3, &mut watch).unwrap();
    assert_eq!((wrong.len(), count), (0, 0));
}

#[test]
fn an_azure_trace_is_a_table_without_content() {
    let config = config(json!({"trace": {"format": "azure", "block_size": 512}}));
    let text = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n\
        2023-11-16 23:59:59.5000000,4808,10\r\n2023-11-17 00:00:00.2500000,4808,0\r\n";
    let trace = load(text, &config).unwrap();
    let rows: Vec<_> = trace
        .requests
        .iter()
        .map(|row| (row.at, row.input, row.output))
        .collect();
    assert_eq!(rows, [(0, 4808, 10), (750_000_000, 4808, 0)]);
    assert_ne!(trace.requests[0].leaf, trace.requests[1].leaf);
    assert_eq!(trace.prefixes.len(), 20);
    for (text, what) in [
        (
            "TIMESTAMP,ContextTokens\n",
            ":1: the header has no column GeneratedTokens",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n",
            "holds no requests",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 00:00:00,0,1",
            ":2: ContextTokens is \"0\"",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 00:00:00,5",
            ":2: the row has 2 cells",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,5,5",
            ":2: TIMESTAMP is \"yesterday\"",
        ),
    ] {
        let error = load(text, &config).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
}

#[test]
fn inspection_measures_what_an_infinite_cache_could_reuse() {
    let config = config(json!({}));
    let rows = [
        common::row(100, 48, 4, &[1, 2, 3]),
        common::row(0, 40, 2, &[1, 2, 3]),
        common::row(300, 48, 0, &[1, 2, 3]),
        common::row(200, 16, 1, &[2]),
    ];
    let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
    let found = load(&lines.join("\n"), &config).unwrap().inspect(16);
    assert_eq!(
        (found.requests, found.sessions, found.most_turns),
        (4, 4, 1)
    );
    assert_eq!(
        (found.span_ms, found.input_tokens, found.output_tokens),
        (300.0, 152, 7)
    );
    assert_eq!(found.input_length.unwrap().max, 48.0);
    assert_eq!(found.delay_ms, None);
    // In order of time: 0, then 32 of 48, then 0 (the same id in another place), then 32 of 48.
    assert_eq!(found.best_prefix_reuse, 64.0 / 152.0);
}

fn any_line() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("null".to_string()),
        Just("true".to_string()),
        Just("[1, 2]".to_string()),
        Just("\"s\"".to_string()),
        Just("{\"a\": [1]}".to_string()),
        Just("[1, \"x\"]".to_string()),
        Just("1e400".to_string()),
        Just("-0.0".to_string()),
        Just("18446744073709551616".to_string()),
        any::<i32>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
    ];
    let field = prop::sample::select(vec![
        "timestamp",
        "input_length",
        "output_length",
        "hash_ids",
        "delay",
        "session_id",
        "request_id",
        "output_token_ids",
        "priority",
        "strict_priority",
        "policy_class",
        "other",
    ]);
    let row = prop::collection::vec((field, value), 0..6).prop_map(|fields| {
        let mut row = changed("timestamp", Some("3"));
        for (field, value) in fields {
            row = row.trim_end_matches('}').to_string();
            row += &format!(", {field:?}: {value}}}");
        }
        row
    });
    prop_oneof![row, "\\PC{0,40}", Just(GOOD.to_string())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_makes_the_loader_panic(lines in prop::collection::vec(any_line(), 1..6), cut in 0..400usize) {
        let text = lines.join("\n");
        let kept = text.chars().count().saturating_sub(cut / 4);
        let text: String = text.chars().take(kept).collect();
        let config = config(json!({}));
        let path = file(&text);
        let mut watch = |_| ControlFlow::Continue(());
        let read = Trace::validate(std::slice::from_ref(&path), &config.trace, 10, &mut watch);
        if let Ok((trace, _, _)) = read {
            for request in &trace.requests {
                prop_assert!(request.input > 0);
            }
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn reading_stops_when_the_host_asks() {
    let text = vec![GOOD; 3000].join("\n");
    let path = file(&text);
    let found = Trace::load(&[path], &config(json!({})).trace, &mut |_| {
        ControlFlow::Break(())
    });
    assert!(matches!(found, Err(Error::Interrupted)));
}

#[test]
fn the_sample_is_a_clean_trace() {
    let config = config(json!({"trace": {"block_size": 512}}));
    let found = load(&replay::trace::sample::sample(300, 5), &config).unwrap();
    assert_eq!(found.requests.len(), 300);
    assert!(found.warnings.is_empty());
    assert!(found.requests.iter().any(|request| request.turn > 2));
}
