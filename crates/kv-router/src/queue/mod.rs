//! Requests that wait: classes, lanes, limits, and who goes next.

mod lanes;
mod order;
mod rounds;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::config::{ClassConfig, QueuePolicy, RouterConfig};
use crate::error::{ErrorKind, RouterError};
use crate::scheduler::{BusyRule, Waiter};
use crate::types::RequestId;
use lanes::Lane;
pub(crate) use lanes::LaneKey;
use order::Rank;
use rounds::Rounds;

/// One class: its rules and what waits in it.
#[derive(Clone, Debug)]
struct Class {
    config: ClassConfig,
    busy: BusyRule,
    waiters: u64,
    isl_tokens: u64,
    cached_tokens: u64,
}

/// Where a waiter stands.
#[derive(Clone, Debug)]
enum Place {
    Lane(LaneKey, Rank),
    /// It waits for something else than capacity and is in no lane.
    Parked,
}

/// All waiting requests.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    classes: Vec<Class>,
    default_family: String,
    lanes: BTreeMap<(LaneKey, usize), Lane>,
    waiters: FxHashMap<RequestId, (Place, Waiter)>,
    in_lanes: usize,
    rounds: Rounds,
    max_wait_ms: f64,
}

impl Queue {
    pub(crate) fn new(config: &RouterConfig) -> Self {
        let (default_family, classes) = match &config.router_policy_config {
            Some(policy) => (policy.default_family.clone(), policy.classes.clone()),
            None => {
                let only = ClassConfig::new("default", "default", config.router_queue_policy);
                ("default".to_owned(), vec![only])
            }
        };
        let quantum = classes.iter().map(|class| class.quantum).collect();
        let classes = classes.into_iter().map(|class| Class {
            busy: BusyRule::of(config, &class),
            config: class,
            waiters: 0,
            isl_tokens: 0,
            cached_tokens: 0,
        });
        Self {
            classes: classes.collect(),
            default_family,
            lanes: BTreeMap::new(),
            waiters: FxHashMap::default(),
            in_lanes: 0,
            rounds: Rounds::new(quantum),
            max_wait_ms: config.wspt_max_wait_ms,
        }
    }

    /// The class of a request of this family with so many uncached tokens.
    pub(crate) fn class_of(
        &self,
        family: Option<&str>,
        uncached: u64,
    ) -> Result<usize, RouterError> {
        let wanted = family.unwrap_or(&self.default_family);
        let fits = |class: &Class| {
            class.config.policy_family == wanted && class.config.cache_bucket <= uncached
        };
        let classes = self
            .classes
            .iter()
            .enumerate()
            .filter(|(_, class)| fits(class));
        let best = classes.max_by_key(|(_, class)| class.config.cache_bucket);
        best.map(|(index, _)| index).ok_or_else(|| {
            let known = self
                .classes
                .iter()
                .map(|class| class.config.policy_family.as_str());
            let known: std::collections::BTreeSet<_> = known.collect();
            let expected = format!("one of the policy families {known:?}");
            RouterError::new(ErrorKind::InvalidValue, "policy_class", wanted, expected)
        })
    }

    pub(crate) fn busy_rule(&self, class: usize) -> &BusyRule {
        &self.classes[class].busy
    }

    /// Refuses a waiter when a limit of its class is reached.
    pub(crate) fn check_limits(&self, class: usize, candidates: usize) -> Result<(), RouterError> {
        let Class {
            config,
            waiters,
            isl_tokens,
            cached_tokens,
            ..
        } = &self.classes[class];
        for (limit_name, limit, current) in [
            (
                "request_queue_limit",
                config.request_queue_limit_per_worker,
                waiters,
            ),
            (
                "raw_isl_token_queue_limit",
                config.raw_isl_token_queue_limit_per_worker,
                isl_tokens,
            ),
            (
                "cached_token_queue_limit",
                config.cached_token_queue_limit_per_worker,
                cached_tokens,
            ),
        ] {
            let Some(limit) = limit else { continue };
            let limit = limit.saturating_mul(candidates.max(1) as u64);
            if *current >= limit {
                return Err(RouterError::new(
                    ErrorKind::QueueLimit,
                    format!("class {} {limit_name}", config.name),
                    current,
                    format!("less than the limit of {limit}"),
                ));
            }
        }
        Ok(())
    }

    /// Whether anyone of the class waits in the lane.
    pub(crate) fn has_backlog(&self, lane: &LaneKey, class: usize) -> bool {
        // Most queues are empty most of the time, and a lookup needs an owned key.
        self.in_lanes > 0 && self.lanes.contains_key(&(lane.clone(), class))
    }

    pub(crate) fn enqueue(&mut self, waiter: Waiter) {
        let policy = self.classes[waiter.class].config.queue_policy;
        let rank = Rank::of(policy, &waiter);
        let key = LaneKey::of(&waiter.request.constraint);
        let lane = self.lanes.entry((key.clone(), waiter.class));
        let lane = lane.or_insert_with(|| Lane::new(policy == QueuePolicy::Wspt));
        lane.insert(rank, waiter.request.id, waiter.arrival_ms);
        self.in_lanes += 1;
        self.add(Place::Lane(key, rank), waiter);
    }

    /// Keeps a waiter that waits for something else than capacity; it counts toward the limits.
    pub(crate) fn park(&mut self, waiter: Waiter) {
        self.add(Place::Parked, waiter);
    }

    fn add(&mut self, place: Place, waiter: Waiter) {
        let class = &mut self.classes[waiter.class];
        class.waiters += 1;
        class.isl_tokens += u64::from(waiter.request.isl_tokens);
        class.cached_tokens += u64::from(waiter.cached_tokens);
        self.waiters.insert(waiter.request.id, (place, waiter));
    }

    /// Takes a waiter out of head, count and limits at once.
    pub(crate) fn remove(&mut self, id: RequestId) -> Option<Waiter> {
        let (place, waiter) = self.waiters.remove(&id)?;
        let class = &mut self.classes[waiter.class];
        class.waiters -= 1;
        class.isl_tokens -= u64::from(waiter.request.isl_tokens);
        class.cached_tokens -= u64::from(waiter.cached_tokens);
        if class.waiters == 0 {
            self.rounds.reset(waiter.class);
        }
        if let Place::Lane(key, rank) = place {
            let key = (key, waiter.class);
            let lane = self.lanes.get_mut(&key).expect("a waiter's lane exists");
            lane.remove(rank);
            if lane.is_empty() {
                self.lanes.remove(&key);
            }
            self.in_lanes -= 1;
        }
        Some(waiter)
    }

    /// Who goes next in a lane and class.
    pub(crate) fn head(&self, now_ms: f64, lane: &LaneKey, class: usize) -> Option<&Waiter> {
        let id = self
            .lanes
            .get(&(lane.clone(), class))?
            .head(now_ms - self.max_wait_ms)?;
        self.waiters.get(&id).map(|(_, waiter)| waiter)
    }

    /// The first in order of two waiters of one class.
    pub(crate) fn before<'a>(&self, now_ms: f64, a: &'a Waiter, b: &'a Waiter) -> &'a Waiter {
        let policy = self.classes[a.class].config.queue_policy;
        let overdue = |waiter: &Waiter| {
            policy == QueuePolicy::Wspt && waiter.arrival_ms <= now_ms - self.max_wait_ms
        };
        let key = |waiter: &Waiter| {
            let rank = Rank::of(policy, waiter);
            let aged = overdue(waiter);
            let (strict, arrival) = rank.by_age();
            (strict, !aged, if aged { arrival } else { 0 }, rank)
        };
        if key(a) <= key(b) { a } else { b }
    }

    /// Chooses a class among those with a head that could go: (class, cost of the head).
    pub(crate) fn next_class(&mut self, ready: &[(usize, u64)]) -> usize {
        self.rounds.next(ready)
    }

    pub(crate) fn classes(&self) -> std::ops::Range<usize> {
        0..self.classes.len()
    }

    /// Lanes with waiters.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = &LaneKey> {
        self.lanes.keys().map(|(key, _)| key)
    }

    /// Lanes with waiters and a constraint of their own.
    pub(crate) fn custom_lanes(&self) -> impl Iterator<Item = &LaneKey> {
        let after_any = (LaneKey::Any, usize::MAX);
        let lanes = self.lanes.range(after_any..).map(|((key, _), _)| key);
        lanes.take_while(|key| matches!(key, LaneKey::Custom(_)))
    }

    /// Ids in one lane, class by class, first to last.
    pub(crate) fn ids_in(&self, lane: &LaneKey) -> Vec<RequestId> {
        let range = (lane.clone(), 0)..=(lane.clone(), usize::MAX);
        self.lanes
            .range(range)
            .flat_map(|(_, lane)| lane.ids())
            .collect()
    }

    pub(crate) fn get(&self, id: RequestId) -> Option<&Waiter> {
        self.waiters.get(&id).map(|(_, waiter)| waiter)
    }

    /// Number of waiters, parked ones too.
    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Number of waiters that wait for capacity.
    pub(crate) fn in_lanes(&self) -> usize {
        self.in_lanes
    }

    #[cfg(test)]
    pub(crate) fn all_ids(&self) -> impl Iterator<Item = RequestId> {
        self.waiters.keys().copied()
    }

    /// A canonical description, for the state digest.
    pub(crate) fn describe(&self) -> String {
        let mut waiters: Vec<_> = self.waiters.iter().collect();
        waiters.sort_unstable_by_key(|(id, _)| **id);
        let counts: Vec<_> = self
            .classes
            .iter()
            .map(|c| (c.waiters, c.isl_tokens, c.cached_tokens))
            .collect();
        format!("{waiters:?} {counts:?} {:?}", self.rounds.state())
    }
}
