//! Times and spans of time, as people read and write them.
//!
//! What is stored is UTC, and so is what is shown: which zone a person is in is nothing that a terminal tells.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use agent_core::event::Timestamp;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// From so long ago on a date says more than a count.
const LONG_AGO: u64 = 60 * DAY;

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970 of a stored moment; none for text that is no moment of ours.
pub(crate) fn millis(moment: &Timestamp) -> Option<u64> {
    moment.to_unix_millis()
}

/// How long ago, for a glance: `3 min ago`.
pub(crate) fn ago(moment: &Timestamp, now: u64) -> String {
    let Some(then) = millis(moment) else { return moment.to_string() };
    let past = now.saturating_sub(then);
    match past {
        0..SECOND => "just now".to_owned(),
        SECOND..MINUTE => format!("{} s ago", past / SECOND),
        MINUTE..HOUR => format!("{} min ago", past / MINUTE),
        HOUR..DAY => format!("{} h ago", past / HOUR),
        DAY..LONG_AGO if past / DAY == 1 => "1 day ago".to_owned(),
        DAY..LONG_AGO => format!("{} days ago", past / DAY),
        _ => moment.as_str().chars().take(10).collect(),
    }
}

/// `2026-11-30 09:41 UTC`.
pub(crate) fn minute(moment: &Timestamp) -> String {
    let text = moment.as_str();
    match (text.get(..10), text.get(11..16)) {
        (Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => text.to_owned(),
    }
}

/// From when to when: `2026-11-30 09:41 to 11:20 UTC`.
pub(crate) fn between(from: &Timestamp, to: &Timestamp) -> String {
    let (from, to) = (minute(from), minute(to));
    let same = from.bytes().zip(to.bytes()).take_while(|(one, other)| one == other).count();
    // The date once where it is the same, all of it once where all of it is.
    match same {
        _ if same == to.len() => to,
        11.. => format!("{} to {}", from.trim_end_matches(" UTC"), to.get(11..).unwrap_or(&to)),
        _ => format!("{} to {to}", from.trim_end_matches(" UTC")),
    }
}

/// How far into a run: `0:07`, `1:02:03`.
pub(crate) fn into(millis: u64) -> String {
    let (hours, minutes, seconds) = (millis / HOUR, millis / MINUTE % 60, millis / SECOND % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A span of time as it is written on the command line: `30d`, `12h`, `90min`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    written: String,
    length: Duration,
}

/// The units of a span, in milliseconds.
const UNITS: [(&str, u64); 6] =
    [("s", SECOND), ("m", MINUTE), ("min", MINUTE), ("h", HOUR), ("d", DAY), ("w", 7 * DAY)];

impl Span {
    /// The moment that lies so far back.
    pub(crate) fn before(&self, now: u64) -> Timestamp {
        let length = u64::try_from(self.length.as_millis()).unwrap_or(u64::MAX);
        Timestamp::from_unix_millis(now.saturating_sub(length))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let wanted = || "write a whole number and a unit: 30d, 12h, 90min, 2w".to_owned();
        let (count, unit) = split(written).ok_or_else(wanted)?;
        let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wanted)?.1;
        let count: u64 = count.parse().map_err(|_| wanted())?;
        let length = count.checked_mul(unit).ok_or("that is longer than there has been time")?;
        Ok(Self { written: written.to_owned(), length: Duration::from_millis(length) })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// A number and what stands behind it.
pub(crate) fn split(written: &str) -> Option<(&str, &str)> {
    let end = written.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(written.len());
    let (number, unit) = written.split_at(end);
    (!number.is_empty()).then(|| (number, unit.trim_start()))
}

#[cfg(test)]
mod tests;
