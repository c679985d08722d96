//! From rows to a trace: sessions, time, names, warnings.

use rustc_hash::FxHashMap;

use super::prefix::Interner;
use super::{Hints, MAX_TOKENS, Place, Source, Trace, TraceRequest, Warning, numbered};
use crate::error::Problem;
use crate::time::{self, MAX_MS};

/// What the builder needs to know of a row.
#[derive(Debug, Default)]
pub(super) struct NewRequest<'a> {
    pub(super) request_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) input: u32,
    pub(super) output: u32,
    /// ms on the trace's own clock.
    pub(super) timestamp: Option<f64>,
    /// ms after the previous turn.
    pub(super) delay: Option<f64>,
    pub(super) hints: Hints,
    pub(super) hash_ids: &'a [u64],
    /// Tokens of a hash id.
    pub(super) block_size: u32,
    /// Whether a later turn's prompt begins with the turn before and its output, which `input` and
    /// `hash_ids` leave out.
    pub(super) continues: bool,
    pub(super) place: Place,
}

#[derive(Debug)]
struct OpenSession {
    last: u32,
    timestamp: Option<f64>,
}

/// Collects the rows of a trace.
#[derive(Debug, Default)]
pub(super) struct Builder {
    requests: Vec<TraceRequest>,
    /// ms on the trace's own clock, for first turns.
    starts: Vec<f64>,
    request_ids: Vec<Option<Box<str>>>,
    session_ids: Vec<Box<str>>,
    sessions: Vec<OpenSession>,
    session_of: FxHashMap<Box<str>, u32>,
    seen: FxHashMap<Box<str>, Place>,
    block_size: u32,
    prefixes: Interner,
    hints: FxHashMap<u32, Hints>,
    first_hint: Option<Place>,
    warnings: Vec<Warning>,
}

impl Builder {
    /// Adds one request behind those that were added before. A request that is refused changes
    /// nothing.
    pub(super) fn add(&mut self, new: NewRequest<'_>) -> Result<(), Problem> {
        let session = new.session_id.as_deref();
        let open = session.and_then(|id| self.session_of.get(id).copied());
        let delay = match open {
            Some(session) => self.sessions[session as usize].delay(&new)?,
            None if new.delay.is_some() => {
                return Err(Problem::new(
                    "a delay on a request that follows no other",
                    "a delay only on later turns of a session",
                    "give a timestamp instead, or the session_id of the turn before",
                ));
            }
            None => 0.0,
        };
        if let Some(id) = &new.request_id {
            self.check_name(id, new.place)?;
        }
        let last = open.map(|session| self.sessions[session as usize].last as usize);
        let base = last.filter(|_| new.continues);
        let start = base.map_or(0, |last| {
            self.requests[last].input + self.requests[last].output
        });
        let input = start + new.input;
        if input > MAX_TOKENS {
            return Err(Problem::new(
                format!("the conversation is {input} tokens long now"),
                format!("at most {MAX_TOKENS} tokens"),
                "end the session earlier",
            ));
        }

        let index = self.requests.len() as u32;
        self.name(index, new.request_id, new.place);
        self.block_size = new.block_size;
        if new.hints != Hints::default() {
            self.first_hint.get_or_insert(new.place);
            self.hints.insert(index, new.hints);
        }
        let turn = last.map_or(0, |last| self.requests[last].turn + 1);
        if let Some(last) = last {
            self.requests[last].next_turn = Some(index);
            self.starts.push(f64::NAN);
        } else {
            if new.timestamp.is_none() {
                let what = "no timestamp on a first turn; taken as 0";
                self.warn("missing-timestamp", new.place, what.to_string());
            }
            self.starts.push(new.timestamp.unwrap_or(0.0));
        }
        let session = new
            .session_id
            .map(|id| self.continue_session(open, id, index, new.timestamp));
        let parent = base.map(|last| self.end_of(last));
        self.requests.push(TraceRequest {
            at: 0,
            delay: time::from_ms(delay),
            input,
            output: new.output,
            leaf: self
                .prefixes
                .add(parent, start, new.hash_ids, new.block_size),
            tail: None,
            turn,
            next_turn: None,
            session,
        });
        Ok(())
    }

    /// The last segment of a request's prompt and output.
    fn end_of(&mut self, request: usize) -> u32 {
        let request = &mut self.requests[request];
        if request.output == 0 {
            return request.leaf;
        }
        let tail = self.prefixes.add_output(request.leaf, request.input);
        request.tail = Some(tail);
        tail
    }

    /// Notes something odd; the first case of a kind is shown, the others are counted.
    pub(super) fn warn(&mut self, code: &'static str, place: Place, what: String) {
        match self
            .warnings
            .iter_mut()
            .find(|warning| warning.code == code)
        {
            Some(warning) => warning.count += 1,
            None => self.warnings.push(Warning {
                code,
                place,
                what,
                count: 1,
            }),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Finishes the trace: the first arrival becomes time 0.
    pub(super) fn finish(mut self, sources: Vec<Source>) -> Result<Trace, Problem> {
        let first_turns = self.starts.iter().copied().filter(|start| !start.is_nan());
        let origin = first_turns.fold(f64::INFINITY, f64::min);
        for (request, start) in self.requests.iter_mut().zip(&self.starts) {
            if start.is_nan() {
                continue;
            }
            let at = start - origin;
            if at > MAX_MS {
                return Err(Problem::new(
                    format!("the trace spans {at} ms"),
                    format!("at most {MAX_MS} ms (100 days) between first and last arrival"),
                    "check that timestamps are milliseconds, and that every first turn has one",
                ));
            }
            request.at = time::from_ms(at);
        }
        self.requests.shrink_to_fit();
        self.tell_names_apart();
        Ok(Trace {
            requests: self.requests,
            request_ids: self.request_ids,
            session_ids: self.session_ids,
            block_size: self.block_size,
            prefixes: self.prefixes.finish(),
            hints: self.hints,
            first_hint: self.first_hint,
            warnings: self.warnings,
            sources,
        })
    }

    /// A row without a name is called by its number; where another row was given that very name, by
    /// the number and as many underscores as it takes.
    fn tell_names_apart(&mut self) {
        for (index, id) in self.request_ids.iter_mut().enumerate() {
            let mut name = numbered(index as u32);
            if id.is_some() || !self.seen.contains_key(name.as_str()) {
                continue;
            }
            while self.seen.contains_key(name.as_str()) {
                name.push('_');
            }
            *id = Some(name.into());
        }
    }

    fn check_name(&self, id: &str, place: Place) -> Result<(), Problem> {
        let Some(first) = self.seen.get(id) else {
            return Ok(());
        };
        let file = if first.file == place.file {
            ""
        } else {
            "of an earlier file "
        };
        Err(Problem::new(
            format!(
                "request_id {id:?} was given on line {} {file}already",
                first.line
            ),
            "every request_id once",
            "remove the copy or give it another id",
        ))
    }

    fn name(&mut self, index: u32, id: Option<String>, place: Place) {
        let id: Option<Box<str>> = id.map(Into::into);
        if let Some(id) = &id {
            self.seen.insert(id.clone(), place);
            self.request_ids.resize(index as usize, None);
        }
        if id.is_some() || !self.request_ids.is_empty() {
            self.request_ids.push(id);
        }
    }

    /// Makes a request the last one of its session, which begins with it unless it is open.
    fn continue_session(
        &mut self,
        open: Option<u32>,
        id: String,
        last: u32,
        timestamp: Option<f64>,
    ) -> u32 {
        let turn = OpenSession { last, timestamp };
        if let Some(session) = open {
            self.sessions[session as usize] = turn;
            return session;
        }
        let session = self.sessions.len() as u32;
        self.sessions.push(turn);
        self.session_ids.push(id.clone().into());
        self.session_of.insert(id.into(), session);
        session
    }
}

impl OpenSession {
    /// Think time before the next turn, ms: the one given, or the difference of the timestamps.
    fn delay(&self, new: &NewRequest<'_>) -> Result<f64, Problem> {
        let delay = match (new.delay, self.timestamp, new.timestamp) {
            (Some(delay), _, _) => delay,
            (None, Some(before), Some(now)) => now - before,
            _ => 0.0,
        };
        if (0.0..=MAX_MS).contains(&delay) {
            return Ok(delay);
        }
        Err(Problem::new(
            format!("this turn comes {delay} ms after the one before it"),
            format!("the turns of a session in order of time, at most {MAX_MS} ms apart"),
            "sort the rows by timestamp, or give a delay",
        ))
    }
}
