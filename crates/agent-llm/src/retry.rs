//! When to ask again, and how long to wait before (PRV-8).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, SystemTime};

use crate::RetrySettings;
use crate::error::Again;

/// Longest wait a server may ask for. Beyond it the failure is told to the user, with the wait.
const MAX_SERVER_WAIT: Duration = Duration::from_secs(120);

/// How long to wait before asking again after attempt `attempt` (from 1); none: do not ask again. `chance` lies in 0..1.
pub(crate) fn wait(
    settings: &RetrySettings,
    attempt: u32,
    again: Again,
    asked: Option<Duration>,
    chance: f64,
) -> Option<Duration> {
    let Again::UpTo(most) = again else { return None };
    if attempt >= settings.max_attempts.max(1) || attempt > most {
        return None;
    }
    match asked {
        Some(asked) => (asked <= MAX_SERVER_WAIT).then_some(asked),
        None => Some(backoff(settings, attempt, chance)),
    }
}

/// Between the initial wait and one that doubles with each attempt, anywhere: clients that failed together come back
/// apart.
fn backoff(settings: &RetrySettings, attempt: u32, chance: f64) -> Duration {
    let most = settings.max_backoff;
    let least = settings.initial_backoff.min(most);
    let doubled = least.saturating_mul(2_u32.saturating_pow(attempt.min(31))).min(most);
    least + (doubled - least).mul_f64(chance.clamp(0.0, 1.0))
}

/// A number in 0..1 that differs between processes and calls. Not for secrets.
pub(crate) fn chance() -> f64 {
    let random = RandomState::new().hash_one(0_u8);
    // 32 bits are plenty for a wait, and exact in a float.
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}

/// How long a server asks us to wait: a header in milliseconds, in seconds or as a date, else its words.
pub(crate) fn asked_wait<'a>(header: impl Fn(&str) -> Option<&'a str>, words: &str) -> Option<Duration> {
    header("retry-after-ms")
        .and_then(|ms| seconds(ms, 1000.0))
        .or_else(|| {
            let value = header("retry-after")?;
            seconds(value, 1.0).or_else(|| until(value, header("date")))
        })
        .or_else(|| in_words(words))
}

/// What the server itself thinks of another attempt.
pub(crate) fn asked_again(header: Option<&str>) -> Option<bool> {
    match header?.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn seconds(number: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = number.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}

/// Counted from the server's own clock if it tells it: ours may be wrong.
fn until(date: &str, now: Option<&str>) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    let now = now.and_then(|now| httpdate::parse_http_date(now).ok()).unwrap_or_else(SystemTime::now);
    Some(date.duration_since(now).unwrap_or_default())
}

/// "try again in 5.289s", "retry after 20 seconds".
fn in_words(words: &str) -> Option<Duration> {
    let lower = words.to_ascii_lowercase();
    let after = ["try again in ", "retry after ", "retry in "].iter().find_map(|lead| lower.split_once(lead))?.1;
    let digits = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
    let (number, unit) = after.split_at(digits);
    let unit: String = unit.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    match unit.as_str() {
        "ms" | "milliseconds" => seconds(number, 1000.0),
        "" | "s" | "sec" | "second" | "seconds" => seconds(number.trim_end_matches('.'), 1.0),
        "m" | "min" | "minute" | "minutes" => seconds(number, 1.0 / 60.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: RetrySettings = RetrySettings {
        max_attempts: 3,
        initial_backoff: Duration::from_millis(500),
        max_backoff: Duration::from_millis(1500),
    };

    #[track_caller]
    fn waits(attempt: u32, again: Again, asked: Option<u64>, chance: f64, expected: Option<u64>) {
        let asked = asked.map(Duration::from_secs);
        assert_eq!(wait(&SETTINGS, attempt, again, asked, chance), expected.map(Duration::from_millis));
    }

    /// PRV-8: exponential, jittered, between the two bounds, and no more than `max_attempts` in all.
    #[test]
    fn waits_grow_and_end() {
        const MANY: Again = Again::UpTo(9);
        waits(1, MANY, None, 0.0, Some(500));
        waits(1, MANY, None, 1.0, Some(1000));
        waits(2, MANY, None, 0.5, Some(1000));
        waits(2, MANY, None, 1.0, Some(1500));
        waits(3, MANY, None, 0.0, None);
        waits(1, Again::UpTo(1), None, 0.0, Some(500));
        waits(2, Again::UpTo(1), None, 0.0, None);
        for again in [Again::Never, Again::Shorter, Again::Aborted] {
            waits(1, again, Some(1), 0.0, None);
        }
        let once = RetrySettings { max_attempts: 0, ..SETTINGS };
        assert_eq!(wait(&once, 1, MANY, None, 0.0), None);
        let odd = RetrySettings { initial_backoff: Duration::from_secs(9), ..SETTINGS };
        assert_eq!(wait(&odd, 1, MANY, None, 0.7), Some(SETTINGS.max_backoff));
    }

    /// PRV-8: what the server asks for wins, up to a cap.
    #[test]
    fn the_servers_wait_wins() {
        waits(1, Again::UpTo(9), Some(0), 0.5, Some(0));
        waits(1, Again::UpTo(9), Some(120), 0.5, Some(120_000));
        waits(1, Again::UpTo(9), Some(121), 0.5, None);
    }

    #[track_caller]
    fn asked(headers: &[(&str, &'static str)], words: &str, expected: Option<u64>) {
        let header = |name: &str| headers.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        assert_eq!(asked_wait(header, words), expected.map(Duration::from_millis));
    }

    /// PRV-8: milliseconds before seconds before a date before words.
    #[test]
    fn waits_are_read_in_every_form() {
        asked(&[], "", None);
        asked(&[("retry-after-ms", "250"), ("retry-after", "9")], "", Some(250));
        asked(&[("retry-after", "1.5")], "", Some(1500));
        asked(&[("retry-after", "0")], "try again in 9s", Some(0));
        let now = "Sun, 06 Nov 1994 08:49:37 GMT";
        asked(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), ("date", now)], "", Some(10_000));
        asked(&[("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT"), ("date", now)], "", Some(0));
        asked(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")], "", Some(0));
        asked(&[("retry-after", "-1")], "", None);
        asked(&[("retry-after", "soon")], "Please try again in 5.289s.", Some(5289));
        asked(&[], "Try again in 20ms", Some(20));
        asked(&[], "retry after 2 minutes", Some(120_000));
        asked(&[], "retry after 3.", Some(3000));
        asked(&[], "try again in a while", None);
    }

    #[test]
    fn servers_have_an_opinion() {
        assert_eq!(asked_again(Some("true")), Some(true));
        assert_eq!(asked_again(Some("false")), Some(false));
        assert_eq!(asked_again(Some("perhaps")), None);
    }

    #[test]
    fn chance_lies_in_its_range_and_varies() {
        let all: Vec<f64> = (0..50).map(|_| chance()).collect();
        assert!(all.iter().all(|c| (0.0..=1.0).contains(c)));
        assert!(all.iter().any(|c| (c - all[0]).abs() > f64::EPSILON));
    }
}
