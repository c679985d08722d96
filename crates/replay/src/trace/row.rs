//! One row of a Mooncake trace: JSON to checked fields.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::value::{
    AnyValue, HashIds, count, delay, name, number, priority, shortened, strict_priority,
};
use crate::error::Problem;

/// The fields of a row; `None` = absent or null.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) request_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) input: Option<u32>,
    pub(super) output: Option<u32>,
    pub(super) timestamp: Option<f64>,
    pub(super) delay: Option<f64>,
    pub(super) output_token_ids: Option<usize>,
    pub(super) has_hash_ids: bool,
    pub(super) priority: Option<f64>,
    pub(super) strict_priority: Option<i32>,
    /// It is known, but this replay does nothing with it.
    pub(super) policy_class: bool,
    /// The first field that is not known.
    pub(super) unknown: Option<String>,
}

/// Reads one line. The hash ids go into `hash_ids`, which is emptied first.
pub(super) fn parse(line: &str, hash_ids: &mut Vec<u64>) -> Result<Row, Problem> {
    hash_ids.clear();
    let mut problem = None;
    let mut json = serde_json::Deserializer::from_str(line);
    let row = json
        .deserialize_map(RowVisitor {
            hash_ids,
            problem: &mut problem,
        })
        .and_then(|row| json.end().map(|()| row));
    match (row, problem) {
        (_, Some(problem)) => Err(problem),
        (Ok(row), None) => Ok(row),
        (Err(error), None) => Err(not_json(line, &error)),
    }
}

pub(super) fn not_json(line: &str, error: &serde_json::Error) -> Problem {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = error.to_string().replace(&place, "");
    let word: String = line
        .chars()
        .skip(error.column().saturating_sub(1))
        .take_while(|c| c.is_alphanumeric())
        .collect();
    if ["NaN", "Infinity", "aN", "nfinity"].contains(&word.as_str()) {
        let what = format!("column {}: NaN and Infinity are not JSON", error.column());
        return Problem::new(
            what,
            "a finite number",
            "leave the field out or give its value",
        );
    }
    let what = format!("not a JSON object: {what} (column {})", error.column());
    Problem::new(what, "one request a line", "repair or remove the line")
}

struct RowVisitor<'a> {
    hash_ids: &'a mut Vec<u64>,
    problem: &'a mut Option<Problem>,
}

impl RowVisitor<'_> {
    fn keep<T>(&mut self, field: &str, slot: &mut Option<T>, value: Result<Option<T>, Problem>) {
        let problem = match value {
            Ok(None) => return,
            Ok(Some(value)) if slot.is_none() => {
                *slot = Some(value);
                return;
            }
            Ok(Some(_)) => given_twice(field),
            Err(problem) => problem,
        };
        self.problem.get_or_insert(problem);
    }
}

fn given_twice(field: &str) -> Problem {
    let what = format!("{field} is given twice, or under both of its names");
    Problem::new(what, "each field once", "keep one of them")
}

impl<'de> Visitor<'de> for RowVisitor<'_> {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Row, A::Error> {
        let mut row = Row::default();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match key.as_ref() {
                "hash_ids" => {
                    if row.has_hash_ids {
                        self.problem.get_or_insert(given_twice("hash_ids"));
                    }
                    row.has_hash_ids = true;
                    let into = HashIds {
                        ids: self.hash_ids,
                        problem: self.problem,
                    };
                    map.next_value_seed(into)?;
                }
                "input_length" | "input_tokens" => {
                    let value = count(&key, 1, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.input, value);
                }
                "output_length" | "output_tokens" => {
                    let value = count(&key, 0, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.output, value);
                }
                "timestamp" | "created_time" => {
                    let value = number(&key, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.timestamp, value);
                }
                "delay" | "delay_ms" => {
                    let value = delay(&key, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.delay, value);
                }
                "request_id" => {
                    let value = name(&key, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.request_id, value);
                }
                "session_id" => {
                    let value = name(&key, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.session_id, value);
                }
                "output_token_ids" => {
                    let mut ids = Vec::new();
                    map.next_value_seed(HashIds {
                        ids: &mut ids,
                        problem: self.problem,
                    })?;
                    let value = Ok(Some(ids.len()));
                    self.keep(&key, &mut row.output_token_ids, value);
                }
                "priority" => {
                    let value = priority(&key, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.priority, value);
                }
                "strict_priority" => {
                    let value = strict_priority(&key, map.next_value_seed(AnyValue)?);
                    self.keep(&key, &mut row.strict_priority, value);
                }
                "policy_class" => {
                    row.policy_class = true;
                    map.next_value::<IgnoredAny>()?;
                }
                unknown => {
                    row.unknown.get_or_insert_with(|| shortened(unknown));
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(row)
    }
}
