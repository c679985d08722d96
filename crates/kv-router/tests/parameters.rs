//! Parameters that decide something beside the cost.

mod common;

use common::*;
use kv_router::{
    ErrorKind, OfflineRouter, PlaceRequest, RouterConfig, RouterError, TrackingHash, TrackingKey,
};

fn refused(config: RouterConfig) -> RouterError {
    OfflineRouter::new(config, &[]).expect_err("the parameters are refused")
}

#[test]
fn a_request_bypasses_the_prefill_pool_when_little_of_it_is_uncached() {
    let off = RouterConfig::default();
    let on = RouterConfig {
        conditional_disagg_enabled: true,
        ..RouterConfig::default()
    };
    // (prompt, cached, may bypass): fewer than 2,048 tokens and less than 0.7 of the prompt.
    for (isl, cached, bypasses) in [
        (1000, 301, true),
        (1000, 300, false),
        (100_000, 97_953, true),
        (100_000, 97_952, false),
        (1000, 0, false),
        (1000, 5000, true),
        (0, 0, false),
    ] {
        assert_eq!(
            on.bypasses_prefill_pool(isl, cached),
            bypasses,
            "{isl} {cached}"
        );
        assert!(!off.bypasses_prefill_pool(isl, cached), "off by default");
    }
    let bad = RouterConfig {
        conditional_disagg_eff_isl_ratio_threshold: f64::NAN,
        ..on
    };
    assert_eq!(
        refused(bad).field(),
        "conditional_disagg_eff_isl_ratio_threshold"
    );
}

#[test]
fn more_event_threads_than_the_hosts_own_are_refused() {
    for router_event_threads in [0, 2, 4] {
        let error = refused(RouterConfig {
            router_event_threads,
            ..RouterConfig::default()
        });
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.field(), "router_event_threads");
    }
}

#[test]
fn the_deprecated_weight_is_the_load_scale_and_0_ends_the_credit() {
    let with = |weight, scale| RouterConfig {
        overlap_score_weight: Some(weight),
        prefill_load_scale: scale,
        ..RouterConfig::default()
    };
    for (weight, credit) in [(2.5, 1.0), (0.0, 0.0)] {
        let router = router(with(weight, 1.0), 1, 1);
        let config = router.scheduler().config();
        assert_eq!(
            (config.prefill_load_scale, config.overlap_score_credit),
            (weight, credit)
        );
    }
    assert_eq!(refused(with(2.5, 2.0)).field(), "overlap_score_weight");
    assert_eq!(refused(with(-1.0, 1.0)).field(), "overlap_score_weight");
}

#[test]
fn keyed_tracking_changes_no_placement_and_no_load() {
    let keyed = RouterConfig {
        router_tracking_hash: TrackingHash::KeyedXxh3V1,
        router_tracking_key: Some(TrackingKey([7; 32])),
        router_tracking_key_id: Some("spring".into()),
        ..RouterConfig::default()
    };
    let [public, keyed] = [RouterConfig::default(), keyed].map(|config| {
        let mut router = router(config, 3, 2);
        let places: Vec<_> = (0..60)
            .map(|id| {
                let hashes = chain(id % 7, 3 + (id % 5) as usize);
                let request = PlaceRequest {
                    sequence_hashes: &hashes,
                    ..request(id, 200)
                };
                run(&mut router, 0.0, &request)
            })
            .collect();
        (places, router.scheduler().loads())
    });
    assert_eq!(public, keyed);
    assert!(public.1.iter().all(|load| load.active_blocks > 0));
}

#[test]
fn a_tracking_key_comes_with_its_id_and_with_keyed_hashes() {
    let config = |hash, key: bool, id: Option<&str>| RouterConfig {
        router_tracking_hash: hash,
        router_tracking_key: key.then_some(TrackingKey([7; 32])),
        router_tracking_key_id: id.map(str::to_owned),
        ..RouterConfig::default()
    };
    let (public, keyed) = (TrackingHash::PublicXxh3V1, TrackingHash::KeyedXxh3V1);
    for (config, field) in [
        (config(keyed, false, Some("a")), "router_tracking_key"),
        (config(keyed, true, None), "router_tracking_key_id"),
        (config(keyed, true, Some("")), "router_tracking_key_id"),
        (config(public, true, None), "router_tracking_key"),
        (config(public, false, Some("a")), "router_tracking_key_id"),
    ] {
        assert_eq!(refused(config).field(), field);
    }
    let json = format!(
        r#"{{"config": {{"router_tracking_hash": "keyed-xxh3-v1", "router_tracking_key": "{}",
            "router_tracking_key_id": "a"}}}}"#,
        "07".repeat(32)
    );
    let router = OfflineRouter::from_json(&json).expect("the parameters go together");
    assert_eq!(*router.scheduler().config(), config(keyed, true, Some("a")));
}
