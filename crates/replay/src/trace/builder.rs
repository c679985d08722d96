//! From rows to a trace: sessions, time, names, warnings.

use rustc_hash::FxHashMap;

use super::prefix::Interner;
use super::{Hints, Place, Source, Trace, TraceRequest, Warning};
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
    prefixes: Interner,
    hints: FxHashMap<u32, Hints>,
    first_hint: Option<Place>,
    warnings: Vec<Warning>,
}

impl Builder {
    /// Adds one request behind those that were added before.
    pub(super) fn add(&mut self, new: NewRequest<'_>) -> Result<(), Problem> {
        let index = self.requests.len() as u32;
        self.name(index, new.request_id, new.place)?;
        let mut request = TraceRequest {
            at: 0,
            delay: 0,
            input: new.input,
            output: new.output,
            leaf: self.prefixes.add(new.hash_ids),
            turn: 0,
            next_turn: None,
            session: None,
        };
        let mut start = new.timestamp.unwrap_or(0.0);
        let open = match new.session_id {
            Some(id) => self.session(id.into(), &mut request),
            None => None,
        };
        match open {
            Some(session) => {
                let previous = &mut self.sessions[session];
                let delay = match (new.delay, previous.timestamp, new.timestamp) {
                    (Some(delay), _, _) => delay,
                    (None, Some(before), Some(now)) => now - before,
                    _ => 0.0,
                };
                if !(0.0..=MAX_MS).contains(&delay) {
                    return Err(Problem::new(
                        format!("this turn comes {delay} ms after the one before it"),
                        format!(
                            "the turns of a session in order of time, at most {MAX_MS} ms apart"
                        ),
                        "sort the rows by timestamp, or give a delay",
                    ));
                }
                request.delay = time::from_ms(delay);
                let last = previous.last as usize;
                request.turn = self.requests[last].turn + 1;
                self.requests[last].next_turn = Some(index);
                *previous = OpenSession {
                    last: index,
                    timestamp: new.timestamp,
                };
                start = f64::NAN;
            }
            None => {
                if new.delay.is_some() {
                    return Err(Problem::new(
                        "a delay on a request that follows no other",
                        "a delay only on later turns of a session",
                        "give a timestamp instead, or the session_id of the turn before",
                    ));
                }
                if new.timestamp.is_none() {
                    let what = "no timestamp on a first turn; taken as 0";
                    self.warn("missing-timestamp", new.place, what.to_string());
                }
                if request.session.is_some() {
                    let timestamp = new.timestamp;
                    self.sessions.push(OpenSession {
                        last: index,
                        timestamp,
                    });
                }
            }
        }
        if new.hints != Hints::default() {
            self.first_hint.get_or_insert(new.place);
            self.hints.insert(index, new.hints);
        }
        self.starts.push(start);
        self.requests.push(request);
        Ok(())
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
        Ok(Trace {
            requests: self.requests,
            request_ids: self.request_ids,
            session_ids: self.session_ids,
            prefixes: self.prefixes.finish(),
            hints: self.hints,
            first_hint: self.first_hint,
            warnings: self.warnings,
            sources,
        })
    }

    fn name(&mut self, index: u32, id: Option<String>, place: Place) -> Result<(), Problem> {
        let id: Option<Box<str>> = id.map(Into::into);
        if let Some(id) = &id {
            if let Some(first) = self.seen.insert(id.clone(), place) {
                let file = if first.file == place.file {
                    ""
                } else {
                    "of an earlier file "
                };
                return Err(Problem::new(
                    format!(
                        "request_id {id:?} was given on line {} {file}already",
                        first.line
                    ),
                    "every request_id once",
                    "remove the copy or give it another id",
                ));
            }
            self.request_ids.resize(index as usize, None);
        }
        if id.is_some() || !self.request_ids.is_empty() {
            self.request_ids.push(id);
        }
        Ok(())
    }

    /// Assigns the session; returns its index when it is open already.
    fn session(&mut self, id: Box<str>, request: &mut TraceRequest) -> Option<usize> {
        let fresh = self.session_ids.len() as u32;
        let session = *self.session_of.entry(id).or_insert_with_key(|id| {
            self.session_ids.push(id.clone());
            fresh
        });
        request.session = Some(session);
        (session != fresh).then_some(session as usize)
    }
}
