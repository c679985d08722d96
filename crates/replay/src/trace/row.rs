//! One row of a Mooncake trace: JSON to checked fields.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::MAX_TOKENS;
use crate::error::Problem;
use crate::time::MAX_MS;

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

fn not_json(line: &str, error: &serde_json::Error) -> Problem {
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

/// Any JSON value, as far as a field can tell it apart.
enum Value {
    Null,
    Whole(u64),
    Number(f64),
    Text(String),
    Other(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{:?}", shortened(value)),
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
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

fn count(field: &str, smallest: u32, value: Value) -> Result<Option<u32>, Problem> {
    match value {
        Value::Null => Ok(None),
        Value::Whole(whole) if (u64::from(smallest)..=u64::from(MAX_TOKENS)).contains(&whole) => {
            Ok(Some(whole as u32))
        }
        other => Err(Problem::new(
            format!("{field} is {other}"),
            format!("a whole number of tokens, {smallest} to {MAX_TOKENS}"),
            "correct the value or remove the line",
        )),
    }
}

fn number(field: &str, value: Value) -> Result<Option<f64>, Problem> {
    match value {
        Value::Null => Ok(None),
        Value::Whole(whole) => Ok(Some(whole as f64)),
        Value::Number(number) if number.is_finite() => Ok(Some(number)),
        other => Err(Problem::new(
            format!("{field} is {other}"),
            "a finite number of milliseconds",
            "correct the value or remove the line",
        )),
    }
}

fn delay(field: &str, value: Value) -> Result<Option<f64>, Problem> {
    let delay = number(field, value)?;
    match delay {
        Some(ms) if !(0.0..=MAX_MS).contains(&ms) => Err(Problem::new(
            format!("{field} is {ms}"),
            format!("milliseconds, 0 to {MAX_MS} (100 days)"),
            "correct the value or remove the line",
        )),
        delay => Ok(delay),
    }
}

fn priority(field: &str, value: Value) -> Result<Option<f64>, Problem> {
    let priority = number(field, value)?;
    match priority {
        Some(jump) if jump < 0.0 => Err(Problem::new(
            format!("{field} is {jump}"),
            "by how much the request jumps ahead in a queue, at least 0",
            "correct the value or leave the field out",
        )),
        priority => Ok(priority),
    }
}

fn strict_priority(field: &str, value: Value) -> Result<Option<i32>, Problem> {
    let whole = match value {
        Value::Null => return Ok(None),
        Value::Whole(whole) => i32::try_from(whole).ok(),
        Value::Number(number) if number.fract() == 0.0 => (f64::from(i32::MIN)..0.0)
            .contains(&number)
            .then_some(number as i32),
        _ => None,
    };
    whole.map(Some).ok_or_else(|| {
        Problem::new(
            format!("{field} is {value}"),
            "a whole number, higher goes first",
            "correct the value or leave the field out",
        )
    })
}

fn name(field: &str, value: Value) -> Result<Option<String>, Problem> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) if !text.is_empty() => Ok(Some(text)),
        Value::Whole(number) => Ok(Some(number.to_string())),
        other => Err(Problem::new(
            format!("{field} is {other}"),
            "a name: text that is not empty, or a whole number",
            "correct the value or leave the field out",
        )),
    }
}

struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Other(if value { "true" } else { "false" }))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other("an object"))
    }
}

/// A list of 64-bit ids.
struct HashIds<'a> {
    ids: &'a mut Vec<u64>,
    problem: &'a mut Option<Problem>,
}

impl<'de> DeserializeSeed<'de> for HashIds<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl HashIds<'_> {
    fn refuse(&mut self, what: String) {
        self.problem.get_or_insert_with(|| {
            let expected = "a list of whole numbers, 0 to 18446744073709551615";
            Problem::new(what, expected, "correct the ids or remove the line")
        });
    }
}

impl<'de> Visitor<'de> for HashIds<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of ids")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element_seed(AnyValue)? {
            match value {
                Value::Whole(id) => self.ids.push(id),
                other => {
                    let at = self.ids.len() + 1;
                    self.refuse(format!("entry {at} of the list of ids is {other}"));
                }
            }
        }
        Ok(())
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.refuse("the list of ids is null".to_string());
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.refuse(format!("the list of ids is {value}"));
        Ok(())
    }

    fn visit_u64<E>(mut self, value: u64) -> Result<(), E> {
        self.refuse(format!("the list of ids is {value}"));
        Ok(())
    }

    fn visit_i64<E>(mut self, value: i64) -> Result<(), E> {
        self.refuse(format!("the list of ids is {value}"));
        Ok(())
    }

    fn visit_f64<E>(mut self, value: f64) -> Result<(), E> {
        self.refuse(format!("the list of ids is {value}"));
        Ok(())
    }

    fn visit_str<E>(mut self, value: &str) -> Result<(), E> {
        self.refuse(format!("the list of ids is {:?}", shortened(value)));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.refuse("the list of ids is an object".to_string());
        Ok(())
    }
}
