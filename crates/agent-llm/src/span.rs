//! Spans of time as servers write them.

use std::time::Duration;

/// A span at the beginning of a text, in one unit or in several: `20`, `5.2s`, `1m20.5s`, `7h12m`, `2 minutes`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let unit: String = tail.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
        let Some(per_second) = per_second(&unit) else { return sum };
        let Some(part) = seconds(number.trim_end_matches('.'), per_second) else { return sum };
        sum = Some(sum.unwrap_or(Duration::ZERO).checked_add(part)?);
        rest = tail.trim_start().get(unit.len()..).unwrap_or_default();
        if unit.is_empty() || !rest.starts_with(|c: char| c.is_ascii_digit()) {
            return sum;
        }
    }
}

/// How many of a unit make a second; no unit is seconds.
fn per_second(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "milliseconds" => 1000.0,
        "" | "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 1.0 / 60.0,
        "h" | "hour" | "hours" => 1.0 / 3600.0,
        "d" | "day" | "days" => 1.0 / 86_400.0,
        _ => return None,
    })
}

/// A number of units, of which so many make a second.
pub(crate) fn seconds(number: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = number.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}
