//! Which candidate a request gets: the cost of each, and the choice among the costs.

use super::fleet::{Eligibility, Fleet, Member};
use super::request::Request;
use crate::config::{RouterConfig, SharedCacheType, WorkerType};
use crate::index::RadixTree;
use crate::rng::Rng;
use crate::types::Candidate;

/// The chosen candidate and what its cache is worth to the request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    /// Position in the fleet.
    pub(crate) position: usize,
    pub(crate) overlap_blocks: u32,
    pub(crate) best_overlap_blocks: u32,
    pub(crate) cached_tokens: u32,
}

/// Buffers that selections share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Device overlap by position in the fleet.
    pub(crate) overlaps: Vec<u32>,
    matches: Vec<(Candidate, u32)>,
    eligible: Vec<usize>,
    costs: Vec<f64>,
}

impl Scratch {
    /// Looks up how much of a prompt each candidate of the fleet has: what its events say, or what
    /// was routed to it, whichever is more.
    pub(crate) fn look_up(&mut self, index: &RadixTree, fleet: &Fleet, now_ms: f64, chain: &[u64]) {
        index.find_matches(chain, false, &mut self.matches);
        let mut matches = self.matches.iter().peekable();
        self.overlaps.clear();
        self.overlaps.extend(fleet.members().iter().map(|member| {
            while matches
                .next_if(|(candidate, _)| *candidate < member.id)
                .is_some()
            {}
            let held = matches.next_if(|(candidate, _)| *candidate == member.id);
            held.map_or(0, |(_, blocks)| *blocks)
                .max(member.routed.overlap(now_ms, chain))
        }));
    }

    /// The candidate at `position`, with what its cache is worth.
    pub(crate) fn choice(
        &self,
        config: &RouterConfig,
        fleet: &Fleet,
        request: &Request,
        position: usize,
    ) -> Choice {
        let overlap_blocks = self.overlaps[position];
        let candidate = fleet.members()[position].id;
        Choice {
            position,
            overlap_blocks,
            best_overlap_blocks: self.overlaps.iter().copied().max().unwrap_or(0),
            cached_tokens: cached_tokens(config, request, candidate, overlap_blocks),
        }
    }
}

/// Chooses a candidate; `None` when none is eligible. The scratch holds the overlaps.
pub(crate) fn select(
    config: &RouterConfig,
    fleet: &Fleet,
    request: &Request,
    now_ms: f64,
    scratch: &mut Scratch,
    rng: &mut Rng,
) -> Option<Choice> {
    let members = fleet.members();
    let eligible =
        |member: &Member| member.eligibility(&request.constraint) == Eligibility::Eligible;
    scratch.eligible.clear();
    scratch
        .eligible
        .extend((0..members.len()).filter(|&i| eligible(&members[i])));
    let preferred = request.preferred.and_then(|id| fleet.position(id));
    let position = match (preferred, scratch.eligible.as_slice()) {
        (_, []) => return None,
        (_, &[only]) => only,
        (Some(preferred), all) if all.contains(&preferred) => preferred,
        _ => {
            price(config, members, request, now_ms, scratch);
            let temperature = request.overrides.router_temperature;
            let temperature = temperature.unwrap_or(config.router_temperature);
            scratch.eligible[draw(&scratch.costs, temperature, rng)]
        }
    };
    Some(scratch.choice(config, fleet, request, position))
}

/// Prompt tokens that the candidate need not prefill: device blocks in full, lower tiers weighted.
pub(crate) fn cached_tokens(
    config: &RouterConfig,
    request: &Request,
    candidate: Candidate,
    overlap_blocks: u32,
) -> u32 {
    let (host, disk) = request.tiers_of(candidate);
    let lower = config.host_cache_hit_weight * f64::from(host)
        + config.disk_cache_hit_weight * f64::from(disk);
    let tokens = (f64::from(overlap_blocks) + lower) * f64::from(config.block_size);
    (tokens as u32).min(request.isl_tokens)
}

/// Fills in the cost of every eligible candidate.
fn price(
    config: &RouterConfig,
    members: &[Member],
    request: &Request,
    now_ms: f64,
    scratch: &mut Scratch,
) {
    let overrides = &request.overrides;
    let block_size = f64::from(config.block_size);
    let request_blocks = f64::from(request.isl_blocks(config));
    let tracks_prefill = request.tracks_prefill(config);
    let credit = overrides
        .overlap_score_credit
        .unwrap_or(config.overlap_score_credit);
    let scale = overrides
        .prefill_load_scale
        .unwrap_or(config.prefill_load_scale);
    let shared_credit = match config.shared_cache_type {
        SharedCacheType::None => 0.0,
        SharedCacheType::Hicache => overrides
            .shared_cache_multiplier
            .or(config.shared_cache_multiplier)
            .unwrap_or(0.5),
    };
    let prefill = |member: &Member| member.prefill.tokens(now_ms) as f64;
    let decays = tracks_prefill && config.overlap_score_credit_decay > 0.0;
    let lightest = if decays {
        let loads = scratch.eligible.iter().map(|&i| prefill(&members[i]));
        loads.fold(f64::INFINITY, f64::min)
    } else {
        0.0
    };
    scratch.costs.clear();
    for &position in &scratch.eligible {
        let member = &members[position];
        let device = f64::from(scratch.overlaps[position]);
        let (host, disk) = request.tiers_of(member.id);
        let beyond_device = (f64::from(request.shared_cache_blocks) - device).max(0.0);
        let decay = if decays {
            let extra_blocks = (prefill(member) - lightest) / block_size;
            1.0 / (1.0 + config.overlap_score_credit_decay * extra_blocks / request_blocks)
        } else {
            1.0
        };
        let credit_blocks = credit * decay * device
            + config.host_cache_hit_weight * f64::from(host)
            + config.disk_cache_hit_weight * f64::from(disk)
            + shared_credit * beyond_device;
        // Active, uncached and cached tokens together: the credit takes the cached ones off.
        let raw_prefill_blocks = if tracks_prefill {
            (prefill(member) + f64::from(request.isl_tokens)) / block_size
        } else {
            0.0
        };
        let decode_blocks = potential_blocks(config, member, request) as f64;
        let requests = config.decode_active_request_weight * f64::from(member.active_requests);
        let sees_cache =
            config.worker_type == WorkerType::Decode && !tracks_prefill && credit > 0.0;
        let cost = if sees_cache {
            (decode_blocks - credit_blocks).max(0.0) + requests
        } else {
            scale * (raw_prefill_blocks - credit_blocks).max(0.0) + decode_blocks + requests
        };
        scratch.costs.push(cost * taint_multiplier(member, request));
    }
}

/// Active blocks of the candidate with the request's blocks that are not active there yet.
pub(crate) fn potential_blocks(config: &RouterConfig, member: &Member, request: &Request) -> u64 {
    if !config.router_track_active_blocks {
        return 0;
    }
    let shared = match request.assumes_reuse(config) {
        true => member.prompt.shared(&request.tracked),
        false => 0,
    };
    member.active_blocks() + (request.chain.len() - shared) as u64
}

/// `exp(-tanh(sum of matching weights))`: above 0, below 1 for a worker that the request prefers.
fn taint_multiplier(member: &Member, request: &Request) -> f64 {
    let matching = request
        .preferred_taints
        .iter()
        .filter(|(taint, _)| member.taints.contains(taint));
    let sum: f64 = matching.map(|(_, weight)| weight).sum();
    if sum == 0.0 { 1.0 } else { (-sum.tanh()).exp() }
}

/// Index of the chosen cost. Temperature 0 takes the lowest, ties drawn evenly; above 0 the
/// probability is proportional to `exp(-(cost - min) / ((max - min) * temperature))`.
fn draw(costs: &[f64], temperature: f64, rng: &mut Rng) -> usize {
    if temperature == 0.0 {
        let (mut chosen, mut ties) = (0, 1);
        for (index, cost) in costs.iter().enumerate().skip(1) {
            if *cost < costs[chosen] {
                (chosen, ties) = (index, 1);
            } else if *cost == costs[chosen] {
                ties += 1;
                if rng.below(ties) == 0 {
                    chosen = index;
                }
            }
        }
        return chosen;
    }
    // Halves keep the range of costs near the limits of f64 finite.
    let low = costs.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
    let range = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max) / 2.0 - low;
    let weight = |cost: &f64| {
        if range > 0.0 {
            (-((cost / 2.0 - low) / range) / temperature).exp()
        } else {
            1.0
        }
    };
    let total: f64 = costs.iter().map(weight).sum();
    let mut left = rng.unit() * total;
    for (index, cost) in costs.iter().enumerate() {
        left -= weight(cost);
        if left <= 0.0 {
            return index;
        }
    }
    costs.len() - 1
}
