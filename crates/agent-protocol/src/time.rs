//! Times are UTC, RFC 3339 text wherever they are stored (API-9). This crate reads no clock: whoever stamps a time owns one.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A moment in UTC as RFC 3339 text with milliseconds, such as `2026-11-30T09:41:43.120Z`.
///
/// The order of a timeline is its `seq`, never this (EVT-4).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// From the milliseconds since 1970-01-01T00:00:00Z; moments before it count as it.
    #[must_use]
    pub fn from_unix_millis(millis: u64) -> Self {
        let (days, ms_of_day) = (millis / 86_400_000, millis % 86_400_000);
        let (year, month, day) = civil_from_days(days);
        let (h, m, s, ms) = (ms_of_day / 3_600_000, ms_of_day / 60_000 % 60, ms_of_day / 1000 % 60, ms_of_day % 1000);
        Self(format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{ms:03}Z"))
    }

    /// Takes text that is already RFC 3339, such as a stored column.
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The RFC 3339 text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Milliseconds since 1970-01-01T00:00:00Z; none for text that is no moment in UTC, or one before that.
    #[must_use]
    pub fn to_unix_millis(&self) -> Option<u64> {
        Self::unix_millis_of(&self.0)
    }

    /// [`to_unix_millis`](Self::to_unix_millis) of a text that is not kept.
    #[must_use]
    pub fn unix_millis_of(text: &str) -> Option<u64> {
        if let Some(millis) = as_written(text) {
            return Some(millis);
        }
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let [year, month, day] = numbers(date, '-')?;
        let [hours, minutes, seconds] = numbers(time, ':')?;
        let days = days_from_civil(year, month, day)?;
        let digits = fraction.get(..fraction.len().min(3))?;
        let scale = [100, 100, 10, 1][digits.len()];
        let fraction = digits.parse::<u64>().ok()? * scale;
        let minutes = (days * 1440).checked_add(hours.checked_mul(60)?)?.checked_add(minutes)?;
        let seconds = minutes.checked_mul(60)?.checked_add(seconds)?;
        seconds.checked_mul(1000)?.checked_add(fraction)
    }
}

/// The moment of a text in the form in which [`Timestamp::from_unix_millis`] writes it: there are as many as events, so it is read
/// without looking for anything.
fn as_written(text: &str) -> Option<u64> {
    let text: &[u8; 24] = text.as_bytes().try_into().ok()?;
    let number = |from: usize, to: usize| {
        text[from..to]
            .iter()
            .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
    };
    let signs = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if signs.iter().any(|(at, sign)| text[*at] != *sign) {
        return None;
    }
    let minutes =
        days_from_civil(number(0, 4)?, number(5, 7)?, number(8, 10)?)? * 1440 + number(11, 13)? * 60 + number(14, 16)?;
    Some((minutes * 60 + number(17, 19)?) * 1000 + number(20, 23)?)
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// The other way round than [`civil_from_days`].
fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year > 9999 {
        return None;
    }
    let year = if month > 2 { year } else { year.checked_sub(1)? };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    days.checked_sub(719_468)
}

/// Gregorian date of a day number (days since 1970-01-01), by counting whole 400-year cycles from a March-based year,
/// so that the leap day is the last of its year.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    const DAYS_PER_CYCLE: u64 = 146_097;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let shifted = days + 719_468;
    let (cycle, day_of_cycle) = (shifted / DAYS_PER_CYCLE, shifted % DAYS_PER_CYCLE);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + u64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// API-9: times are UTC, RFC 3339.
    #[test]
    fn known_moments() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_796_031_703_120, "2026-11-30T09:41:43.120Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp::from_unix_millis(millis).as_str(), text);
            assert_eq!(Timestamp::from_stored(text.to_owned()).to_unix_millis(), Some(millis));
        }
        for (fraction, millis) in [(".1", 100), (".12", 120), (".1234567", 123), ("", 0)] {
            assert_eq!(Timestamp::unix_millis_of(&format!("1970-01-01T00:00:00{fraction}Z")), Some(millis));
        }
        for other in [
            "",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.äZ",
            "2026-11-30",
            "2026-13-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-11-30T99999999999999999999:0:0Z",
            "2026-11-30T18446744073709551615:00:00Z",
            "2026-11-30T09:41:43+01:00",
        ] {
            assert_eq!(Timestamp::from_stored(other.to_owned()).to_unix_millis(), None, "{other}");
        }
    }
}
