//! Continuous batching as vLLM does it: running sequences first, in order of admission; then, if
//! nobody had to be preempted, waiting ones while the token budget, the sequence limit and the
//! cache allow.

use std::collections::VecDeque;

use serde::Serialize;

use super::cache::{CacheEvent, KvCache, NodeId, Span};
use super::decode::DecodeGroup;
use super::sequence::Sequence;
use super::timing::PassWork;
use crate::config::EngineConfig;
use crate::ledger::{Ledger, Status};
use crate::time::{self, Nanos};

/// A request for an engine.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Number of the request, below 2^31.
    pub request: u32,
    /// Prompt length, tokens.
    pub input: u32,
    /// Tokens to generate.
    pub output: u32,
    /// The complete blocks of the prompt.
    pub spans: &'a [Span],
    /// The node of the blocks behind the prompt, if later prompts can hold them.
    pub tail: Option<NodeId>,
}

/// Why an engine can never serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Prompt and output need more blocks than the worker has.
    LargerThanCache,
    /// The prompt fills the longest context, or more.
    ContextLimit,
    /// The prompt does not fit into one pass, and may not be spread over several.
    LargerThanPass,
}

/// What the end of a pass brought.
#[derive(Debug, Default)]
pub struct PassEnd {
    /// Requests whose prompt is computed now.
    pub prefilled: Vec<u32>,
    /// Requests that are complete now.
    pub completed: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Pass {
    start: Nanos,
    work: PassWork,
}

/// The engine of one worker.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    cache: KvCache,
    sequences: Vec<Sequence>,
    spare: Vec<usize>,
    waiting: VecDeque<usize>,
    /// In order of admission. Only the last one can be in the middle of its prompt: nobody is
    /// admitted behind a prompt that took the whole budget.
    running: Vec<usize>,
    decoding: DecodeGroup,
    pass: Option<Pass>,
    /// Sequences whose next token comes out of the current pass, without being in the group.
    prompts_ending: Vec<usize>,
    /// Sequences that got their first token at the end of the last pass.
    fresh: Vec<usize>,
    /// The first waiting sequence does not fit; nothing was freed or published since.
    blocked: bool,
}

impl Engine {
    /// An idle engine with an empty cache. `with_events`: keep a log of cache changes.
    pub fn new(config: &EngineConfig, with_events: bool) -> Self {
        Self {
            config: config.clone(),
            cache: KvCache::new(config.num_gpu_blocks, with_events),
            sequences: Vec::new(),
            spare: Vec::new(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            decoding: DecodeGroup::new(config.block_size),
            pass: None,
            prompts_ending: Vec::new(),
            fresh: Vec::new(),
            blocked: false,
        }
    }

    /// Cache changes since the last [`Engine::clear_events`].
    pub fn events(&self) -> &[CacheEvent] {
        self.cache.events()
    }

    /// Forgets the cache changes so far.
    pub fn clear_events(&mut self) {
        self.cache.clear_events();
    }

    /// Queues a request; it takes part from the next pass on.
    ///
    /// # Errors
    /// When the engine could never serve it, whatever else is running.
    pub fn submit(&mut self, job: Job<'_>) -> Result<(), Refusal> {
        let limit = self.config.max_model_len.unwrap_or(u32::MAX);
        if job.input >= limit {
            return Err(Refusal::ContextLimit);
        }
        if !self.config.enable_chunked_prefill && job.input > self.config.max_num_batched_tokens {
            return Err(Refusal::LargerThanPass);
        }
        let target = job.output.min(limit - job.input);
        // The last token is never computed again, so it needs no place.
        let places = u64::from(job.input) + u64::from(target.max(1)) - 1;
        if places > self.config.cache_tokens() {
            return Err(Refusal::LargerThanCache);
        }
        let index = self.spare.pop().unwrap_or_else(|| {
            self.sequences.push(Sequence::default());
            self.sequences.len() - 1
        });
        let spans = std::mem::take(&mut self.sequences[index].spans);
        self.sequences[index] = Sequence::new(&job, target, self.config.block_size, spans);
        self.waiting.push_back(index);
        Ok(())
    }

    /// Starts a pass, if there is anything to do, and returns when it ends.
    pub fn start_pass(&mut self, now: Nanos, ledger: &mut Ledger) -> Option<Nanos> {
        debug_assert!(self.pass.is_none());
        if self.running.is_empty() && self.waiting.is_empty() {
            return None;
        }
        let preempted = self.make_room(now);
        let mut work = PassWork {
            prefill_tokens: 0,
            decodes: self.decoding.size,
            context_tokens: self.decoding.context,
        };
        let mut budget = self.config.max_num_batched_tokens - self.decoding.size;
        if let Some(index) = self.unfinished_prompt() {
            budget -= self.schedule_prompt(index, budget, &mut work);
        }
        // Whoever had to give way does not come back in the same pass, unless it ran alone.
        if !preempted || self.running.is_empty() {
            self.admit(now, budget, &mut work, ledger);
        }
        if work == PassWork::default() {
            return None;
        }
        let time = self.config.timing.pass_time(
            work,
            self.config.cache_tokens() as f64,
            self.config.decode_speedup_ratio,
        );
        if time.extrapolated {
            ledger.extrapolated.add(work);
        }
        let end = now.saturating_add(time::from_ms(time.ms / self.config.speedup_ratio));
        self.pass = Some(Pass { start: now, work });
        Some(end)
    }

    /// Ends the running pass: hands out tokens, frees what is complete. `end` may be later than
    /// [`Engine::start_pass`] said: ranks of one worker wait for the slowest.
    pub fn finish_pass(&mut self, end: Nanos, ledger: &mut Ledger, out: &mut PassEnd) {
        let Some(Pass { start, work }) = self.pass.take() else {
            return;
        };
        ledger.passes += 1;
        ledger.prefill_tokens += work.prefill_tokens;
        if self.decoding.size > 0 {
            // Every member got its last token when this pass began.
            ledger.gaps.add(end - start, self.decoding.size);
            self.decoding.advance();
        }
        for index in self.fresh.drain(..) {
            let sequence = &self.sequences[index];
            if sequence
                .joined
                .is_some_and(|joined| joined + 1 == self.decoding.pass)
            {
                ledger.records[sequence.request as usize].second_token = end;
            }
        }
        let mut ending = std::mem::take(&mut self.prompts_ending);
        for index in ending.drain(..) {
            self.end_prompt(index, end, ledger, out);
        }
        self.prompts_ending = ending;
        if self.decoding.pass >= self.decoding.next_finish {
            self.collect_finished(end, ledger, out);
        }
    }

    /// The running sequence that is in the middle of its prompt.
    fn unfinished_prompt(&self) -> Option<usize> {
        let &last = self.running.last()?;
        self.sequences[last].joined.is_none().then_some(last)
    }

    /// Gives every running sequence the blocks that it needs for its next token or chunk, in
    /// order of admission, at the cost of the sequences admitted last. Returns whether any of
    /// them was preempted.
    fn make_room(&mut self, now: Nanos) -> bool {
        let chunk = self.unfinished_prompt().map_or(0, |index| {
            let budget = self.config.max_num_batched_tokens - self.decoding.size;
            self.chunk_blocks(index, budget)
        });
        let needed = self.decoding.blocks_needed();
        if needed + chunk <= self.cache.available() {
            self.cache.take(needed + chunk);
            return false;
        }
        let mut preempted = false;
        let mut next = 0;
        while next < self.running.len() {
            let index = self.running[next];
            let sequence = &self.sequences[index];
            let wanted = match sequence.joined {
                Some(_) => u32::from(self.decoding.needs_block(sequence)),
                None => {
                    let budget = self.config.max_num_batched_tokens - self.decoding.size;
                    self.chunk_blocks(index, budget)
                }
            };
            while wanted > self.cache.available() && next < self.running.len() {
                self.preempt_last(now);
                preempted = true;
            }
            if next < self.running.len() {
                self.cache.take(wanted);
                next += 1;
            }
        }
        preempted
    }

    /// Blocks that the next chunk of an unfinished prompt needs.
    fn chunk_blocks(&self, index: usize, budget: u32) -> u32 {
        let sequence = &self.sequences[index];
        let chunk = (sequence.context() - sequence.computed).min(budget);
        blocks_between(
            sequence.computed,
            sequence.computed + chunk,
            self.config.block_size,
        )
    }

    /// Puts the next chunk of a prompt, whose blocks are taken, into the pass; returns its tokens.
    fn schedule_prompt(&mut self, index: usize, budget: u32, work: &mut PassWork) -> u32 {
        let block_size = self.config.block_size;
        let sequence = &mut self.sequences[index];
        let remaining = sequence.context() - sequence.computed;
        let chunk = remaining.min(budget);
        sequence.computed += chunk;
        if self.config.enable_prefix_caching {
            sequence.publish(&mut self.cache, block_size);
            self.blocked = false;
        }
        let prompt_left = sequence.input.saturating_sub(sequence.computed - chunk);
        work.prefill_tokens += u64::from(chunk.min(prompt_left));
        if chunk > prompt_left && (chunk == remaining || prompt_left == 0) {
            // Back from a preemption: what it had generated is computed again as one decode.
            work.decodes += 1;
            work.context_tokens += u64::from(sequence.computed);
        }
        if chunk == remaining {
            self.prompts_ending.push(index);
        }
        chunk
    }

    fn admit(&mut self, now: Nanos, mut budget: u32, work: &mut PassWork, ledger: &mut Ledger) {
        let block_size = self.config.block_size;
        while !self.blocked && budget > 0 && self.running.len() < self.config.max_num_seqs as usize
        {
            let Some(&index) = self.waiting.front() else {
                return;
            };
            let sequence = &mut self.sequences[index];
            let context = sequence.context();
            let found = if self.config.enable_prefix_caching {
                // At least one token must be computed, or there is nothing to sample from.
                self.cache
                    .longest_match(sequence.path(block_size), (context - 1) / block_size)
            } else {
                super::Match::default()
            };
            let cached = found.blocks * block_size;
            let remaining = context - cached;
            let whole_pass = self.config.max_num_batched_tokens;
            // What was preempted may have outgrown a pass; then only chunks can bring it back.
            if !self.config.enable_chunked_prefill && remaining > budget && remaining <= whole_pass
            {
                return;
            }
            // Admission asks for room for the whole prompt, not only for its first chunk.
            let whole = context.div_ceil(block_size) - found.blocks;
            if whole > self.cache.available() - found.evictable {
                self.blocked = true;
                return;
            }
            self.waiting.pop_front();
            self.running.push(index);
            sequence.hold_match(&mut self.cache, found.blocks);
            sequence.computed = cached;
            let reused = cached.min(sequence.input);
            ledger.admitted(sequence.request, now, reused);
            let blocks = self.chunk_blocks(index, budget);
            self.cache.take(blocks);
            budget -= self.schedule_prompt(index, budget, work);
        }
    }

    /// A prompt is computed: hand out the token that follows it.
    fn end_prompt(&mut self, index: usize, now: Nanos, ledger: &mut Ledger, out: &mut PassEnd) {
        let sequence = &mut self.sequences[index];
        let record = &mut ledger.records[sequence.request as usize];
        if sequence.generated == 0 {
            out.prefilled.push(sequence.request);
        }
        if sequence.target > 0 {
            match sequence.generated {
                0 => record.first_token = now,
                1 => record.second_token = now,
                _ => {}
            }
            if sequence.generated > 0 {
                ledger.gaps.add(now - sequence.last_token, 1);
            }
            sequence.generated += 1;
        }
        if sequence.generated < sequence.target {
            self.decoding.join(sequence);
            if sequence.generated == 1 {
                self.fresh.push(index);
            }
        } else {
            sequence.finishes = self.decoding.pass;
            self.decoding.next_finish = self.decoding.pass;
        }
    }

    /// Completes every sequence that has all its tokens.
    fn collect_finished(&mut self, now: Nanos, ledger: &mut Ledger, out: &mut PassEnd) {
        let pass = self.decoding.pass;
        let mut next_finish = u64::MAX;
        let mut kept = 0;
        for at in 0..self.running.len() {
            let index = self.running[at];
            let sequence = &mut self.sequences[index];
            if sequence.finishes > pass {
                next_finish = next_finish.min(sequence.finishes);
                self.running[kept] = index;
                kept += 1;
                continue;
            }
            self.decoding.leave(sequence);
            let record = &mut ledger.records[sequence.request as usize];
            record.output = sequence.generated;
            record.terminal = now;
            record.status = Status::Completed;
            if sequence.generated > 0 {
                record.last_token = now;
            }
            out.completed.push(sequence.request);
            self.free(index);
            self.spare.push(index);
        }
        self.running.truncate(kept);
        self.decoding.next_finish = next_finish;
    }

    /// Sends the sequence admitted last back to the front of the queue, without its blocks.
    fn preempt_last(&mut self, now: Nanos) {
        let Some(index) = self.running.pop() else {
            return;
        };
        let sequence = &mut self.sequences[index];
        if sequence.joined.is_some() {
            sequence.last_token = now;
            self.decoding.leave(sequence);
            sequence.finishes = u64::MAX;
        }
        self.free(index);
        self.waiting.push_front(index);
    }

    fn free(&mut self, index: usize) {
        let keep = self.config.enable_prefix_caching;
        self.sequences[index].free(&mut self.cache, self.config.block_size, keep);
        self.blocked = false;
    }
}

/// Blocks that a sequence of `to` tokens has more than one of `from` tokens.
fn blocks_between(from: u32, to: u32, block_size: u32) -> u32 {
    to.div_ceil(block_size) - from.div_ceil(block_size)
}
