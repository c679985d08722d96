//! The JSON form says what the typed form says.

mod common;

use common::*;
use kv_router::{ErrorKind, OfflineRouter, PlaceRequest};
use serde_json::{Value, json};

const SETUP: &str = r#"{
    "config": {"block_size": 16, "router_queue_threshold": 0.0},
    "workers": [{"worker_id": 0, "dp_size": 2}, {"worker_id": 1, "taints": ["eu"]}]
}"#;

fn ask(router: &mut OfflineRouter, command: Value) -> Value {
    serde_json::from_str(&router.command(&command.to_string())).expect("answers are JSON")
}

#[test]
fn a_life_in_json_equals_the_typed_calls() {
    let mut spoken = OfflineRouter::from_json(SETUP).expect("it is valid");
    let mut typed = OfflineRouter::from_json(SETUP).expect("it is valid");
    let rows: Vec<_> = blocks(1, 0, 2)
        .iter()
        .map(|block| json!({"block_hash": block.block_hash, "tokens_hash": block.tokens_hash}))
        .collect();
    let stored = json!({"type": "stored", "parent_hash": null, "blocks": rows});
    let observe =
        json!({"command": "observe", "now_ms": 0.0, "worker_id": 0, "dp_rank": 1, "event": stored});
    assert_eq!(ask(&mut spoken, observe), json!({"released": []}));
    store(&mut typed, 0.0, at(0, 1), 1, 2);

    let place = json!({"command": "place", "now_ms": 1.0,
        "request": {"request_id": 7, "isl_tokens": 40, "block_hashes": local(1, 2)}});
    let answer = ask(&mut spoken, place.clone());
    let prompt = chain(1, 2);
    let request = PlaceRequest {
        sequence_hashes: &prompt,
        ..request(7, 40)
    };
    let decision = typed.place(1.0, &request).expect("it is valid").decision;
    assert_eq!(answer, json!({"decision": decision, "released": []}));
    assert_eq!(answer["decision"]["cached_tokens"], 32);

    let refused = ask(&mut spoken, place);
    assert_eq!(refused["error"]["kind"], "duplicate_request");
    assert_eq!(refused["error"]["value"], "7");

    let commit = json!({"command": "dispatch_committed", "now_ms": 1.0, "request_id": 7,
        "worker_id": 0, "dp_rank": 1});
    assert_eq!(ask(&mut spoken, commit), json!({"released": []}));
    typed
        .dispatch_committed(1.0, 7, at(0, 1))
        .expect("it is placed");
    assert_eq!(spoken.state_digest(), typed.state_digest());
}

#[test]
fn every_command_is_understood() {
    let mut router = OfflineRouter::from_json(SETUP).expect("it is valid");
    let place = |id: u64, extra: Value| {
        let mut request = json!({"request_id": id, "isl_tokens": 40});
        let object = request.as_object_mut().expect("it is one");
        object.extend(extra.as_object().expect("it is one").clone());
        json!({"command": "place", "now_ms": 0.0, "request": request})
    };
    let simple =
        |command: &str, id: u64| json!({"command": command, "now_ms": 0.0, "request_id": id});
    let worker = |command: &str| json!({"command": command, "now_ms": 0.0, "worker_id": 1});
    for command in [
        place(
            1,
            json!({"pinned": {"worker_id": 1}, "required_taints": ["eu"]}),
        ),
        place(2, json!({"pinned": {"worker_id": 1, "dp_rank": 0}})),
        simple("cancel", 2),
        simple("prefill_completed", 1),
        simple("dispatch_aborted", 1),
        place(
            3,
            json!({"preferred_taints": [["eu", 1.0]], "overrides": {"router_temperature": 0.0}}),
        ),
        simple("request_terminal", 3),
        json!({"command": "worker_overloaded", "now_ms": 0.0, "worker_id": 1, "overloaded": true}),
        worker("worker_fenced"),
        worker("worker_draining"),
        worker("worker_removed"),
        json!({"command": "worker_ready", "now_ms": 0.0, "worker": {"worker_id": 1}}),
        json!({"command": "topology_settled", "now_ms": 0.0}),
        json!({"command": "advance_clock", "now_ms": 5.0}),
        json!({"command": "next_wakeup_ms"}),
        json!({"command": "pending_count"}),
        json!({"command": "loads"}),
        json!({"command": "evidence"}),
        json!({"command": "state_digest"}),
    ] {
        let answer = ask(&mut router, command.clone());
        assert!(answer.get("error").is_none(), "{command}: {answer}");
    }
    assert_eq!(
        ask(&mut router, json!({"command": "pending_count"})),
        json!({"pending_count": 0})
    );
}

#[test]
fn bad_json_is_refused_without_a_trace() {
    let mut router = OfflineRouter::from_json("{}").expect("no workers are fine");
    let digest = router.state_digest();
    for bad in [
        "",
        "[]",
        r#"{"command": "dance"}"#,
        r#"{"command": "cancel", "now_ms": 0.0}"#,
        r#"{"command": "cancel", "now_ms": "soon", "request_id": 1}"#,
        r#"{"command": "cancel", "now_ms": 0.0, "request_id": 1, "why": 0}"#,
        r#"{"command": "place", "now_ms": 0.0, "request": {"request_id": 1, "isl": 3}}"#,
    ] {
        let answer: Value = serde_json::from_str(&router.command(bad)).expect("answers are JSON");
        assert_eq!(answer["error"]["kind"], "invalid_command", "{bad}");
    }
    assert_eq!(router.state_digest(), digest);
    let typo = r#"{"config": {"overlap_score_credits": 1}}"#;
    assert_eq!(
        kind(OfflineRouter::from_json(typo)),
        ErrorKind::InvalidCommand
    );
}
