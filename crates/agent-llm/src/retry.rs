//! When to ask again, and how long to wait before (PRV-8).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, SystemTime};

use crate::RetrySettings;
use crate::error::Again;
use crate::fault::ServerWords;
use crate::span::{MAX_SERVER_WAIT, duration, seconds};

mod resets;

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

/// How long to wait for a model that is being loaded, after so many such waits. None: the server asks for too long a one.
pub(crate) fn loading_wait(waits: u32, asked: Option<Duration>) -> Option<Duration> {
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(5);
    match asked {
        Some(asked) => (asked <= MAX_SERVER_WAIT).then_some(asked.max(FIRST)),
        None => Some(FIRST.saturating_mul(2_u32.saturating_pow(waits.min(8))).min(LONGEST)),
    }
}

/// How long a server asks us to wait: a header in milliseconds, in seconds or as a date, else a field of its error, else when
/// its limits are reset, else its words.
pub(crate) fn asked_wait<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    status: u16,
    words: &ServerWords,
) -> Option<Duration> {
    header("retry-after-ms")
        .and_then(|ms| seconds(ms, 1000.0))
        .or_else(|| {
            let value = header("retry-after")?;
            seconds(value, 1.0).or_else(|| until(value, header("date")))
        })
        .or(words.retry_after)
        // Limits are told with every answer; only where one is hit do they mean a wait.
        .or_else(|| if status == 429 { resets::wait(header) } else { None })
        .or_else(|| in_words(&words.message))
}

/// What the server itself thinks of another attempt.
pub(crate) fn asked_again(header: Option<&str>) -> Option<bool> {
    match header?.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Counted from the server's own clock if it tells it: ours may be wrong.
fn until(date: &str, now: Option<&str>) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    let now = now.and_then(|now| httpdate::parse_http_date(now).ok()).unwrap_or_else(SystemTime::now);
    Some(date.duration_since(now).unwrap_or_default())
}

/// "try again in 5.289s", "retry after 20 seconds", "retry in 1m20.5s".
fn in_words(words: &str) -> Option<Duration> {
    let lower = words.to_ascii_lowercase();
    let after = ["try again in ", "retry after ", "retry in "].iter().find_map(|lead| lower.split_once(lead))?.1;
    duration(after)
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
        let words = ServerWords { message: words.to_owned(), ..ServerWords::default() };
        assert_eq!(asked_wait(header, 429, &words), expected.map(Duration::from_millis));
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
        asked(&[], "Please try again in 1m20.5s. Visit", Some(80_500));
        asked(&[], "try again in 7h12m", Some(25_920_000));
        asked(&[], "Please retry in 34.07s.", Some(34_070));
        asked(
            &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "2s")],
            "try again in 9s",
            Some(2000),
        );
        let words = ServerWords { retry_after: Some(Duration::from_secs(34)), ..ServerWords::default() };
        assert_eq!(asked_wait(|_| None, 429, &words), Some(Duration::from_secs(34)));
    }

    /// PRV-8: a model that is being loaded is waited for in steps of at most five seconds.
    #[test]
    fn loading_is_waited_for() {
        let waits: Vec<u64> = (0..5).map(|waits| loading_wait(waits, None).unwrap().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        assert_eq!(loading_wait(9, Some(Duration::from_secs(20))), Some(Duration::from_secs(20)));
        assert_eq!(loading_wait(0, Some(Duration::ZERO)), Some(Duration::from_secs(1)));
        assert_eq!(loading_wait(0, Some(Duration::from_secs(121))), None);
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
