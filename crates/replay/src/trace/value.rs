//! JSON values as a row holds them, and what a field makes of them.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::MAX_TOKENS;
use crate::error::Problem;
use crate::time::MAX_MS;

/// Any JSON value, as far as a field can tell it apart.
pub(super) enum Value {
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

pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

pub(super) fn count(field: &str, smallest: u32, value: Value) -> Result<Option<u32>, Problem> {
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

pub(super) fn number(field: &str, value: Value) -> Result<Option<f64>, Problem> {
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

pub(super) fn delay(field: &str, value: Value) -> Result<Option<f64>, Problem> {
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

pub(super) fn priority(field: &str, value: Value) -> Result<Option<f64>, Problem> {
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

pub(super) fn strict_priority(field: &str, value: Value) -> Result<Option<i32>, Problem> {
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

pub(super) fn name(field: &str, value: Value) -> Result<Option<String>, Problem> {
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

/// Reads any value.
pub(super) struct AnyValue;

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
pub(super) struct HashIds<'a> {
    pub(super) ids: &'a mut Vec<u64>,
    pub(super) problem: &'a mut Option<Problem>,
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
