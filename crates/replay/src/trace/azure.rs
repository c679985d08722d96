//! The `azure` format: CSV with arrival, prompt length and output length, without content.

use super::builder::{Builder, NewRequest};
use super::load::Format;
use super::{Hints, MAX_TOKENS, Place};
use crate::error::Problem;
use crate::time::Nanos;

pub(super) const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// Reads `TIMESTAMP,ContextTokens,GeneratedTokens`. Nothing is known of the prompts' content, so no
/// two of them share a block.
pub(super) struct Azure {
    block_size: u32,
    /// Where the three columns are, once the header of the file was read.
    columns: Option<[usize; 3]>,
    /// Day of the first row: times count from its midnight, so that they stay exact.
    first_day: Option<i64>,
    next_id: u64,
    hash_ids: Vec<u64>,
}

impl Azure {
    pub(super) fn new(block_size: u32) -> Self {
        Self {
            block_size,
            columns: None,
            first_day: None,
            next_id: 0,
            hash_ids: Vec::new(),
        }
    }

    fn header(&mut self, line: &str) -> Result<(), Problem> {
        let names: Vec<&str> = line.split(',').map(str::trim).collect();
        let mut columns = [0; 3];
        for (place, wanted) in columns.iter_mut().zip(COLUMNS) {
            let found = names
                .iter()
                .position(|name| name.eq_ignore_ascii_case(wanted));
            *place = found.ok_or_else(|| {
                Problem::new(
                    format!("the header has no column {wanted}"),
                    format!("a header with {}", COLUMNS.join(", ")),
                    "check that this is an Azure LLM inference trace",
                )
            })?;
        }
        self.columns = Some(columns);
        Ok(())
    }
}

impl Format for Azure {
    fn begin_file(&mut self) {
        self.columns = None;
    }

    fn line(&mut self, line: &str, place: Place, builder: &mut Builder) -> Result<(), Problem> {
        let Some(columns) = self.columns else {
            return self.header(line);
        };
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |column: usize| {
            cells.get(columns[column]).copied().ok_or_else(|| {
                let what = format!("the row has {} cells", cells.len());
                let expected = format!("a cell for {}", COLUMNS[column]);
                Problem::new(what, expected, "repair or remove the line")
            })
        };
        let (day, ms) = timestamp(cell(0)?)?;
        let input = tokens(COLUMNS[1], cell(1)?, 1)?;
        let output = tokens(COLUMNS[2], cell(2)?, 0)?;
        let days = day - *self.first_day.get_or_insert(day);
        let blocks = u64::from(input.div_ceil(self.block_size));
        self.hash_ids.clear();
        self.hash_ids.extend(self.next_id..self.next_id + blocks);
        self.next_id += blocks;
        builder.add(NewRequest {
            request_id: None,
            session_id: None,
            input,
            output,
            timestamp: Some(days as f64 * 86_400_000.0 + ms),
            delay: None,
            hints: Hints::default(),
            hash_ids: &self.hash_ids,
            block_size: self.block_size,
            continues: false,
            place,
        })
    }
}

fn tokens(column: &str, text: &str, smallest: u32) -> Result<u32, Problem> {
    let value = text
        .parse()
        .ok()
        .filter(|value| (smallest..=MAX_TOKENS).contains(value));
    value.ok_or_else(|| {
        Problem::new(
            format!("{column} is {text:?}"),
            format!("a whole number of tokens, {smallest} to {MAX_TOKENS}"),
            "correct the value or remove the line",
        )
    })
}

/// A time since 1970-01-01 as the format has it; at most 31 days, so that it is in January.
pub(super) fn written(time: Nanos) -> String {
    let (seconds, fraction) = (time / 1_000_000_000, time % 1_000_000_000);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    format!(
        "1970-01-{:02} {:02}:{:02}:{:02}.{fraction:09}",
        hours / 24 + 1,
        hours % 24,
        minutes % 60,
        seconds % 60
    )
}

/// Days since 1970-01-01 and milliseconds of the day (beyond it for other time zones) of
/// `YYYY-MM-DD HH:MM:SS[.fraction][Z|±HH:MM]`.
fn timestamp(text: &str) -> Result<(i64, f64), Problem> {
    parse_timestamp(text).ok_or_else(|| {
        Problem::new(
            format!("TIMESTAMP is {text:?}"),
            "a time such as 2023-11-16 18:17:03.9799600",
            "correct the value or remove the line",
        )
    })
}

fn parse_timestamp(text: &str) -> Option<(i64, f64)> {
    let (date, time) = text.split_once([' ', 'T'])?;
    let (time, offset) = match time.find(['Z', '+', '-']) {
        Some(at) => (&time[..at], zone_ms(&time[at..])?),
        None => (time, 0.0),
    };
    let [year, month, day] = numbers::<3>(date, '-')?;
    let (clock, seconds) = time.rsplit_once(':')?;
    let [hour, minute] = numbers::<2>(clock, ':')?;
    let plain = seconds
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds: f64 = seconds.parse().ok().filter(|_| plain)?;
    let sane = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && seconds < 61.0;
    let ms = (hour * 60 + minute) as f64 * 60_000.0 + seconds * 1000.0 - offset;
    sane.then(|| (days_from_civil(year, month, day), ms))
}

fn zone_ms(zone: &str) -> Option<f64> {
    if zone == "Z" {
        return Some(0.0);
    }
    let sign = if zone.starts_with('-') {
        -60_000.0
    } else {
        60_000.0
    };
    let [hours, minutes] = numbers::<2>(zone.get(1..)?, ':')?;
    Some(sign * (hours * 60 + minutes) as f64)
}

fn numbers<const COUNT: usize>(text: &str, separator: char) -> Option<[i64; COUNT]> {
    let mut parts = text.split(separator);
    let mut found = [0; COUNT];
    for place in &mut found {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.len() <= 4;
        *place = part
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| part.parse().ok())??;
        digits.then_some(())?;
    }
    parts.next().is_none().then_some(found)
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar: years begin in March, so
/// that the leap day is the last day of a year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_of_year = (month + 9) % 12;
    let days_before_month = (153 * month_of_year + 2) / 5;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + days_before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_leap_years() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(1970, 3, 1), 59);
        assert_eq!(days_from_civil(2000, 2, 29), 11_016);
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
        assert_eq!(
            days_from_civil(2100, 3, 1) - days_from_civil(2100, 2, 28),
            1
        );
        assert_eq!(
            days_from_civil(2024, 1, 1) - days_from_civil(2023, 1, 1),
            365
        );
        assert_eq!(
            days_from_civil(2025, 1, 1) - days_from_civil(2024, 1, 1),
            366
        );
    }

    #[test]
    fn times_have_fractions_and_zones() {
        let midnight = days_from_civil(2023, 11, 16);
        let ms = 18.0 * 3.6e6 + 17.0 * 6e4 + 3979.96;
        let close = |text: &str, expected: f64| {
            let (day, found) = parse_timestamp(text).expect(text);
            assert_eq!(day, midnight);
            assert!((found - expected).abs() < 1e-6, "{text}: {found}");
        };
        close("2023-11-16 18:17:03.9799600", ms);
        close("2023-11-16T18:17:03.97996Z", ms);
        close("2023-11-16 18:17:03.979960+00:00", ms);
        close("2023-11-16 19:47:03.979960+01:30", ms);
        close("2023-11-16 17:17:03.979960-01:00", ms);
        close("2023-11-16 18:17:03", ms - 979.96);
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "now",
            "2023-11-16",
            "18:17:03",
            "2023-13-01 00:00:00",
            "2023-11-16 24:00:00",
            "2023-11-16 18:17",
            "2023-11-16 18:17:nan",
            "2023-11-16 18:17:1e1",
            "2023-11-16 18:17:03+1",
            "20233-11-16 00:00:00",
            "2023--1-16 00:00:00",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
