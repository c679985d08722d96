//! The affinity table on its own.

mod common;

use common::{at, kind};
use kv_router::{
    Abandoned, Acquired, AffinityConfig, BindingMode, ErrorKind, Hold, Lease, MAX_CLOCK_MS,
    SessionAffinity,
};

fn table(change: impl Fn(&mut AffinityConfig)) -> SessionAffinity {
    let mut config = AffinityConfig {
        ttl_secs: 1.25,
        ..AffinityConfig::default()
    };
    change(&mut config);
    SessionAffinity::new(&config).expect("the configuration is valid")
}

fn hold(table: &mut SessionAffinity, now_ms: f64, key: &str) -> Hold {
    match table.acquire(now_ms, key, 1).expect("there is room") {
        Acquired::Initializer(hold) => hold,
        other => panic!("{key} is {other:?}"),
    }
}

fn lease(table: &mut SessionAffinity, now_ms: f64, key: &str) -> Lease {
    match table.acquire(now_ms, key, 1).expect("there is room") {
        Acquired::Bound(lease) => lease,
        other => panic!("{key} is {other:?}"),
    }
}

#[test]
fn the_first_initializes_and_the_others_wait_for_its_commit() {
    let mut table = table(|_| {});
    let first = hold(&mut table, 0.0, "k");
    assert_eq!(table.acquire(0.0, "k", 2), Ok(Acquired::Waiting));
    assert_eq!(table.acquire(0.0, "k", 3), Ok(Acquired::Waiting));
    assert_eq!(table.query(0.0, "k"), None, "not bound before the commit");
    let (own, waiters) = table
        .commit(0.0, &first, at(4, 1))
        .expect("it is the initializer");
    assert_eq!((own.target(), waiters), (at(4, 1), vec![2, 3]));
    assert_eq!(lease(&mut table, 0.0, "k").target(), at(4, 1));
    assert_eq!(table.leases("k"), 2);
}

#[test]
fn abandoning_passes_the_initialization_to_the_next_waiter() {
    let mut table = table(|_| {});
    let first = hold(&mut table, 0.0, "k");
    table.acquire(0.0, "k", 2).expect("there is room");
    table.acquire(0.0, "k", 3).expect("there is room");
    assert!(table.withdraw("k", 2), "it waited");
    assert!(!table.withdraw("k", 2), "it does not wait any more");
    let Ok(Abandoned::Next(3, second)) = table.abandon(0.0, &first) else {
        panic!("request 3 waits");
    };
    assert_eq!(
        kind(table.commit(0.0, &first, at(0, 0))),
        ErrorKind::StaleAffinity
    );
    assert_eq!(table.abandon(0.0, &second), Ok(Abandoned::Forgotten));
    assert!(table.is_empty());
}

#[test]
fn a_second_holder_can_join() {
    let mut table = table(|_| {});
    let first = hold(&mut table, 0.0, "k");
    let second = table.join(&first).expect("it is being initialized");
    assert_eq!(table.abandon(0.0, &first), Ok(Abandoned::Joined));
    table
        .commit(0.0, &second, at(1, 0))
        .expect("it still initializes");
    assert_eq!(kind(table.join(&second)), ErrorKind::StaleAffinity);
}

#[test]
fn the_ttl_counts_from_the_last_release_and_ends_exactly_at_the_deadline() {
    let mut table = table(|_| {});
    let first = hold(&mut table, 0.0, "k");
    let (own, _) = table
        .commit(0.0, &first, at(0, 0))
        .expect("it is the initializer");
    let other = lease(&mut table, 10.0, "k");
    table.release(100.0, &own).expect("the clock moves on");
    assert_eq!(
        table.query(1_000_000.0, "k"),
        Some(at(0, 0)),
        "a live lease outlives the TTL"
    );
    table.release(2000.0, &other).expect("the clock moves on");
    assert_eq!(table.next_expiry_ms(), Some(3250.0));
    assert_eq!(table.query(3249.999, "k"), Some(at(0, 0)));
    assert_eq!(
        table.query(3250.0, "k"),
        None,
        "exactly at the deadline is expired"
    );
    assert_eq!(
        table.query(3249.0, "k"),
        Some(at(0, 0)),
        "asking extends and ends nothing"
    );
    assert_eq!(table.advance(3249.999), Ok(0));
    assert_eq!(table.advance(3250.0), Ok(1));
    assert!(table.is_empty());
}

#[test]
fn a_lease_in_time_takes_the_deadline_back() {
    let mut table = table(|_| {});
    let first = hold(&mut table, 0.0, "k");
    let (own, _) = table
        .commit(0.0, &first, at(0, 0))
        .expect("it is the initializer");
    table.release(0.0, &own).expect("the clock moves on");
    let again = lease(&mut table, 1249.0, "k");
    assert_eq!(table.next_expiry_ms(), None);
    table.release(5000.0, &again).expect("the clock moves on");
    table
        .release(5000.0, &again)
        .expect("a second release does nothing");
    assert_eq!(table.next_expiry_ms(), Some(6250.0));
}

#[test]
fn hard_bindings_end_when_violated_and_soft_ones_move() {
    for binding in [BindingMode::Hard, BindingMode::Soft] {
        let mut table = table(|config| config.binding = binding);
        let first = hold(&mut table, 0.0, "k");
        let (own, _) = table
            .commit(0.0, &first, at(0, 0))
            .expect("it is the initializer");
        table
            .dispatched(0.0, &own, at(0, 0))
            .expect("it went where it is bound");
        let elsewhere = table.dispatched(0.0, &own, at(1, 0));
        if binding == BindingMode::Hard {
            assert_eq!(kind(elsewhere), ErrorKind::BindingViolated);
            assert_eq!(table.query(0.0, "k"), None);
            table
                .release(0.0, &own)
                .expect("a lease of an ended binding ends silently");
        } else {
            elsewhere.expect("a soft binding moves");
            assert_eq!(table.query(0.0, "k"), Some(at(1, 0)));
        }
    }
}

#[test]
fn rebinding_one_key_keeps_the_others() {
    let mut table = table(|config| config.binding = BindingMode::Soft);
    let keys = ["a", "b", "c"];
    for key in keys {
        let first = hold(&mut table, 0.0, key);
        table
            .commit(0.0, &first, at(0, 0))
            .expect("it is the initializer");
    }
    let moved = lease(&mut table, 0.0, "b");
    table
        .dispatched(0.0, &moved, at(1, 1))
        .expect("a soft binding moves");
    assert_eq!(
        keys.map(|key| table.query(0.0, key)),
        [Some(at(0, 0)), Some(at(1, 1)), Some(at(0, 0))]
    );
}

#[test]
fn a_worker_that_goes_takes_its_bindings() {
    let mut table = table(|_| {});
    for (key, worker) in [("a", 0), ("b", 1), ("c", 0)] {
        let first = hold(&mut table, 0.0, key);
        table
            .commit(0.0, &first, at(worker, 0))
            .expect("it is the initializer");
    }
    assert_eq!(table.invalidate_worker(0), 2);
    assert_eq!(
        (table.query(0.0, "a"), table.query(0.0, "b")),
        (None, Some(at(1, 0)))
    );
    assert!(table.invalidate("b") && !table.invalidate("b"));
}

#[test]
fn capacity_is_bounded_and_expired_keys_make_room() {
    let mut table = table(|config| config.max_entries = 2);
    let first = hold(&mut table, 0.0, "a");
    hold(&mut table, 0.0, "b");
    assert_eq!(kind(table.acquire(0.0, "c", 1)), ErrorKind::AffinityFull);
    let (own, _) = table
        .commit(0.0, &first, at(0, 0))
        .expect("it is the initializer");
    table.release(0.0, &own).expect("the clock moves on");
    assert_eq!(kind(table.acquire(1249.0, "c", 1)), ErrorKind::AffinityFull);
    assert_eq!(table.len(), 2);
    hold(&mut table, 1250.0, "c");
}

#[test]
fn keys_and_clock_are_checked() {
    let mut table = table(|_| {});
    assert_eq!(kind(table.acquire(0.0, "", 1)), ErrorKind::InvalidValue);
    assert_eq!(
        kind(table.acquire(0.0, &"k".repeat(257), 1)),
        ErrorKind::InvalidValue
    );
    hold(&mut table, 10.0, &"k".repeat(256));
    assert_eq!(kind(table.advance(9.0)), ErrorKind::ClockBackwards);
    for bad in [f64::NAN, f64::INFINITY, -1.0, -0.0, MAX_CLOCK_MS] {
        assert_eq!(
            kind(table.advance(bad)),
            ErrorKind::ClockInvalid,
            "{bad}: no deadline fits"
        );
    }
    assert_eq!(
        table.advance(10.0),
        Ok(0),
        "refused times leave the clock alone"
    );
    for ttl_secs in [0.999, 31_536_000.1, f64::NAN] {
        let config = AffinityConfig {
            ttl_secs,
            ..AffinityConfig::default()
        };
        assert_eq!(kind(SessionAffinity::new(&config)), ErrorKind::InvalidValue);
    }
}
