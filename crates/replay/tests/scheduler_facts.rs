//! What is known of the scheduler of this field, one test for each fact.
//! Blocks of 16 tokens, 10 ms for the prefill part of a pass, 1 ms for its decode part.

mod common;

use common::{column, config, replay, requests, row, summary};
use serde_json::json;

#[test]
fn the_prefill_pass_gives_the_first_token_and_each_decode_pass_one_more() {
    let report = replay(&[row(0, 40, 5, &[1, 2, 3])], &config(json!({})));
    assert_eq!(column(&report, "ttft_ms"), [10.0]);
    assert_eq!(column(&report, "ttst_ms"), [1.0]);
    assert_eq!(column(&report, "e2e_latency_ms"), [14.0]);
}

#[test]
fn a_prefix_hit_counts_whole_blocks_and_computes_at_least_one_token() {
    let first = |length, ids| row(0, length, 1, ids);
    let reused = |second_length, second: &[u64]| {
        let rows = [first(48, &[1, 2, 3]), row(100, second_length, 1, second)];
        column(&replay(&rows, &config(json!({}))), "reused_input_tokens")[1].clone()
    };
    assert_eq!(reused(48, &[1, 2, 3]), 32);
    assert_eq!(reused(64, &[1, 2, 3, 4]), 48);
    assert_eq!(reused(40, &[1, 2, 3]), 32);
    assert_eq!(reused(48, &[9, 2, 3]), 0);
}

#[test]
fn a_later_request_of_the_same_pass_finds_the_blocks_of_an_earlier_one() {
    let same = row(0, 64, 3, &[1, 2, 3, 4]);
    let report = replay(&[same.clone(), same], &config(json!({})));
    assert_eq!(column(&report, "reused_input_tokens"), [0, 48]);
    assert_eq!(column(&report, "ttft_ms"), [10.0, 10.0]);
}

#[test]
fn a_prompt_larger_than_the_budget_is_computed_in_chunks() {
    let ids: Vec<u64> = (0..10).collect();
    let config = config(json!({"engine": {"max_num_batched_tokens": 64}}));
    let report = replay(&[row(0, 160, 1, &ids)], &config);
    assert_eq!(column(&report, "ttft_ms"), [30.0]);
}

#[test]
fn without_chunks_a_prompt_larger_than_the_budget_is_rejected_alone() {
    let ids: Vec<u64> = (0..10).collect();
    let config = config(json!({
        "engine": {"max_num_batched_tokens": 64, "enable_chunked_prefill": false},
    }));
    let rows = [row(0, 160, 1, &ids), row(0, 64, 1, &ids[..4])];
    let report = replay(&rows, &config);
    assert_eq!(
        column(&report, "terminal_status"),
        ["rejected", "completed"]
    );
    assert_eq!(column(&report, "terminal_time_ms"), [0.0, 10.0]);
    let reasons = [json!("larger_than_pass"), json!(null)];
    assert_eq!(column(&report, "rejection_reason"), reasons);
}

#[test]
fn the_sequence_limit_holds_the_next_request_back() {
    let config = config(json!({"engine": {"max_num_seqs": 1}}));
    let rows = [row(0, 32, 3, &[1, 2]), row(0, 32, 3, &[3, 4])];
    let report = replay(&rows, &config);
    assert_eq!(column(&report, "first_admit_ms"), [0.0, 12.0]);
}

#[test]
fn an_arrival_during_a_pass_joins_the_next_one() {
    let rows = [row(0, 32, 3, &[1, 2]), row(3, 32, 3, &[3, 4])];
    let report = replay(&rows, &config(json!({})));
    assert_eq!(column(&report, "first_admit_ms"), [0.0, 10.0]);
}

#[test]
fn an_arrival_at_the_end_of_a_pass_joins_the_next_one() {
    let rows = [row(0, 32, 3, &[1, 2]), row(10, 32, 3, &[3, 4])];
    let report = replay(&rows, &config(json!({})));
    assert_eq!(column(&report, "first_admit_ms"), [0.0, 10.0]);
}

#[test]
fn a_new_prefill_shares_the_pass_with_running_decodes() {
    let rows = [row(0, 32, 4, &[1, 2]), row(3, 32, 1, &[3, 4])];
    let report = replay(&rows, &config(json!({})));
    // Tokens of the first at 10, 21 (with the prefill of the second), 22, 23.
    assert_eq!(column(&report, "first_token_ms"), [10.0, 21.0]);
    assert_eq!(column(&report, "itl_ms")[0], 13.0 / 3.0);
}

#[test]
fn the_request_admitted_last_is_preempted_and_readmitted_once() {
    let config = config(json!({"engine": {"num_gpu_blocks": 7}}));
    let rows = [row(0, 32, 40, &[1, 2]), row(0, 32, 40, &[3, 4])];
    let report = replay(&rows, &config);
    assert_eq!(column(&report, "admission_count"), [1, 2]);
    assert_eq!(column(&report, "last_token_ms"), [49.0, 72.0]);
    let history = &requests(&report)[1]["admission_history"];
    assert_eq!(history[1]["at_ms"], 49.0);
    assert_eq!(history[1]["is_readmission"], true);
    // The largest reuse is inflated by the preemption; the one at first admission is not.
    assert_eq!(history[0]["reused_input_tokens"], 0);
    assert_eq!(history[1]["reused_input_tokens"], 32);
    let summary = summary(&report);
    assert_eq!(summary["prefix_cache_reused_ratio"], 0.5);
    assert_eq!(summary["first_admission_prefix_cache_reused_ratio"], 0.0);
    assert_eq!(summary["preemptions"], 1);
}

#[test]
fn a_prompt_larger_than_the_cache_is_rejected_when_it_arrives() {
    let config = config(json!({"engine": {"num_gpu_blocks": 4}}));
    let ids: Vec<u64> = (0..6).collect();
    let rows = [
        row(0, 32, 3, &[1, 2]),
        row(4, 96, 3, &ids),
        row(5, 32, 3, &[8, 9]),
    ];
    let report = replay(&rows, &config);
    assert_eq!(
        column(&report, "terminal_status"),
        ["completed", "rejected", "completed"]
    );
    let rejected = &requests(&report)[1];
    assert_eq!(rejected["terminal_time_ms"], 4.0);
    assert_eq!(rejected["rejection_reason"], "larger_than_cache");
    assert_eq!(rejected["admission_history"], json!([]));
    assert_eq!(rejected["routing_history"][0]["logical_worker_id"], 0);
    assert_eq!(summary(&report)["rejected_requests"], 1);
}

#[test]
fn a_request_is_rejected_only_if_prompt_and_output_cannot_fit() {
    // The last token needs no place: 32 + 17 tokens fit into 3 blocks, 32 + 18 do not.
    let status = |output| {
        let config = config(json!({"engine": {"num_gpu_blocks": 3}}));
        column(
            &replay(&[row(0, 32, output, &[1, 2])], &config),
            "terminal_status",
        )[0]
        .clone()
    };
    assert_eq!(status(17), "completed");
    assert_eq!(status(18), "rejected");
}

#[test]
fn the_context_limit_cuts_outputs_and_rejects_prompts() {
    let config = config(json!({"engine": {"max_model_len": 40}}));
    let rows = [
        row(0, 32, 100, &[1, 2]),
        row(50, 40, 1, &[1, 2, 3]),
        row(60, 39, 5, &[4, 5, 6]),
    ];
    let report = replay(&rows, &config);
    assert_eq!(
        column(&report, "terminal_status"),
        ["completed", "rejected", "completed"]
    );
    assert_eq!(column(&report, "output_length"), [8, 0, 1]);
    assert_eq!(column(&report, "rejection_reason")[1], "context_limit");
    assert_eq!(column(&report, "requested_output_length"), [100, 1, 5]);
}

#[test]
fn an_output_of_nothing_completes_at_the_end_of_its_prefill() {
    let report = replay(&[row(0, 32, 0, &[1, 2])], &config(json!({})));
    assert_eq!(column(&report, "terminal_status"), ["completed"]);
    assert_eq!(column(&report, "terminal_time_ms"), [10.0]);
    assert_eq!(column(&report, "first_token_ms"), [json!(null)]);
    assert_eq!(summary(&report)["num_ttft_samples"], 0);
    assert_eq!(summary(&report)["mean_ttft_ms"], json!(null));
}

#[test]
fn admission_asks_for_room_for_the_whole_prompt_not_for_its_first_chunk() {
    // The first request has 3 of the blocks while the second, of 4 blocks, waits.
    let admitted = |blocks: u32| {
        let config = config(json!({
            "engine": {"num_gpu_blocks": blocks, "max_num_batched_tokens": 32},
        }));
        let rows = [row(0, 32, 30, &[1, 2]), row(5, 64, 3, &[5, 6, 7, 8])];
        column(&replay(&rows, &config), "first_admit_ms")[1].clone()
    };
    assert_eq!(admitted(6), 39.0);
    assert_eq!(admitted(7), 10.0);
}

#[test]
fn the_end_of_the_prefix_used_longest_ago_is_evicted_first() {
    // 8 blocks. The first request leaves 2 prompt blocks and 2 of output; the second takes n
    // blocks for its prompt and one for its second token.
    let reused = |blocks: u64| {
        let ids: Vec<u64> = (10..10 + blocks).collect();
        let config = config(json!({"engine": {"num_gpu_blocks": 8}}));
        let rows = [
            row(0, 32, 33, &[1, 2]),
            row(100, 16 * blocks, 2, &ids),
            row(200, 48, 2, &[1, 2, 3]),
        ];
        column(&replay(&rows, &config), "reused_input_tokens")[2].clone()
    };
    assert_eq!([4, 5, 6, 7].map(reused), [32, 32, 16, 0]);
}

#[test]
fn a_full_hit_on_blocks_in_use_takes_a_second_copy_of_the_last_one() {
    // With 4 blocks the copy does not fit beside the first request, with 6 it does.
    let admitted = |blocks: u32| {
        let config = config(json!({"engine": {"num_gpu_blocks": blocks}}));
        let rows = [row(0, 48, 10, &[1, 2, 3]), row(5, 48, 4, &[1, 2, 3])];
        column(&replay(&rows, &config), "first_admit_ms")[1].clone()
    };
    assert_eq!(admitted(4), 19.0);
    assert_eq!(admitted(6), 10.0);
}

#[test]
fn without_prefix_caching_nothing_is_reused() {
    let config = config(json!({"engine": {"enable_prefix_caching": false}}));
    let rows = [row(0, 48, 3, &[1, 2, 3]), row(100, 48, 3, &[1, 2, 3])];
    let report = replay(&rows, &config);
    assert_eq!(column(&report, "reused_input_tokens"), [0, 0]);
    assert_eq!(summary(&report)["prefix_cache_reused_ratio"], 0.0);
}

#[test]
fn a_decode_pass_slows_down_with_the_tokens_in_the_cache_whatever_the_block_size() {
    let itl = |block: u32, blocks: u32| {
        let config = config(json!({
            "trace": {"block_size": 1024},
            "engine": {
                "block_size": block, "num_gpu_blocks": blocks, "timing": {"type": "polynomial"},
            },
        }));
        column(&replay(&[row(0, 1024, 2, &[1])], &config), "itl_ms")[0]
            .as_f64()
            .unwrap()
    };
    assert_eq!(itl(16, 1000), 9.094379);
    assert_eq!(itl(16, 1000), itl(32, 500));
    assert!(itl(16, 2000) < itl(16, 1000));
}

#[test]
fn the_speedup_ratio_divides_the_time_of_a_pass() {
    let config = config(json!({"engine": {"speedup_ratio": 4.0}}));
    let report = replay(&[row(0, 40, 2, &[1, 2, 3])], &config);
    assert_eq!(column(&report, "ttft_ms"), [2.5]);
    assert_eq!(column(&report, "itl_ms"), [0.25]);
}

#[test]
fn the_decode_speedup_ratio_divides_the_decode_part_alone() {
    let config = config(json!({
        "engine": {"speedup_ratio": 2.0, "decode_speedup_ratio": 4.0},
    }));
    // The second prefill shares its pass with a decode: 5 ms and 0.125 ms.
    let rows = [row(0, 32, 4, &[1, 2]), row(3, 32, 1, &[3, 4])];
    let report = replay(&rows, &config);
    assert_eq!(column(&report, "first_token_ms"), [5.0, 10.125]);
    assert_eq!(column(&report, "last_token_ms"), [10.375, 10.125]);
}
