//! Spans of time as servers write them.

use std::time::Duration;

/// Longest wait a server may ask for. Beyond it the failure is told to the user, with the wait.
pub(crate) const MAX_SERVER_WAIT: Duration = Duration::from_secs(120);

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

/// A span as people say it, in its two largest units: `45 s`, `2 min 5 s`, `1 h`, `3 d 4 h`.
pub(crate) fn in_words(span: Duration) -> String {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    let parts = [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let first = parts.iter().position(|(count, _)| *count > 0).unwrap_or(parts.len() - 1);
    let shown = parts[first..].iter().take(2).filter(|(count, _)| *count > 0 || seconds == 0);
    shown.map(|(count, unit)| format!("{count} {unit}")).collect::<Vec<_>>().join(" ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_words() {
        for (seconds, words) in [
            (0, "0 s"),
            (45, "45 s"),
            (125, "2 min 5 s"),
            (3600, "1 h"),
            (5400, "1 h 30 min"),
            (3661, "1 h 1 min"),
            (270_000, "3 d 3 h"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
        assert_eq!(in_words(Duration::from_millis(1500)), "2 s");
    }
}
