//! When a server's limits are reset, in the headers that tell of them.

use std::time::{Duration, SystemTime};

use crate::span::duration;

/// A family of headers: what is left of a limit, and when it is whole again. `*` stands for what is limited.
const FAMILIES: [(&str, &str); 2] = [
    ("x-ratelimit-remaining-*", "x-ratelimit-reset-*"),
    ("anthropic-ratelimit-*-remaining", "anthropic-ratelimit-*-reset"),
];
/// What is limited.
const LIMITED: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];
/// The limit of a subscription, which has no other header.
const UNIFIED: &str = "anthropic-ratelimit-unified-reset";

/// How long until the limits that are used up are whole again; none if no header says so.
pub(super) fn wait<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let now = header("date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or_else(SystemTime::now);
    let limits = FAMILIES.iter().flat_map(|family| LIMITED.iter().map(move |limited| (family, limited)));
    let used_up = limits.filter_map(|((remaining, reset), limited)| {
        let left = header(&remaining.replace('*', limited))?;
        (left.trim() == "0").then_some(header(&reset.replace('*', limited))?)
    });
    let mut waits: Vec<Duration> = used_up.filter_map(|reset| until(reset, now)).collect();
    waits.extend(header(UNIFIED).and_then(|reset| until(reset, now)));
    waits.into_iter().max()
}

/// A span such as `6m0s`, a time such as `2026-09-01T10:00:00Z`, or seconds since 1970.
fn until(reset: &str, now: SystemTime) -> Option<Duration> {
    let reset = reset.trim();
    if let Ok(epoch) = reset.parse::<u64>().map(Duration::from_secs)
        && epoch > Duration::from_secs(1_000_000_000)
    {
        return (SystemTime::UNIX_EPOCH + epoch).duration_since(now).ok().or(Some(Duration::ZERO));
    }
    match rfc3339(reset) {
        Some(at) => Some(at.duration_since(now).unwrap_or_default()),
        None => duration(reset),
    }
}

/// A time in the one form servers write it: year to second, in UTC.
fn rfc3339(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let time = time.split_once('.').map_or(time, |(whole, _)| whole);
    let numbers = |text: &str, separator| -> Option<[u64; 3]> {
        let parts: Vec<u64> = text.split(separator).map(|part| part.parse().ok()).collect::<Option<_>>()?;
        parts.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let in_range = (1970..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(((since_1970 * 24 + hour) * 60 + minute) * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&str, &'static str)], expected: Option<u64>) {
        let date = ("date", "Tue, 01 Sep 2026 09:59:30 GMT");
        let header = |name: &str| headers.iter().chain([&date]).find(|(n, _)| *n == name).map(|(_, value)| *value);
        assert_eq!(wait(header), expected.map(Duration::from_millis), "{headers:?}");
    }

    /// PRV-8: without a wait of its own, a limit that is used up is waited for until it is reset; the longest of them counts.
    #[test]
    fn resets_are_read() {
        let openai = |requests, tokens| {
            [
                ("x-ratelimit-remaining-requests", requests),
                ("x-ratelimit-reset-requests", "1.57s"),
                ("x-ratelimit-remaining-tokens", tokens),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ]
        };
        check(&openai("0", "100"), Some(1570));
        check(&openai("0", "0"), Some(360_000));
        check(&openai("3", "100"), None);
        check(&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "12ms")], Some(12));
        check(
            &[
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                ("anthropic-ratelimit-input-tokens-reset", "2026-09-01T10:00:00Z"),
            ],
            Some(30_000),
        );
        check(&[("anthropic-ratelimit-unified-reset", "1788256800")], Some(30_000));
        check(&[("anthropic-ratelimit-unified-reset", "2026-09-01T09:00:00Z")], Some(0));
        check(&[("anthropic-ratelimit-unified-reset", "soon")], None);
        check(&[], None);
    }

    #[test]
    fn times_are_read_as_the_calendar_has_them() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-09-01T10:00:00.5Z", Some(1_788_256_800)),
            ("2026-13-01T10:00:00Z", None),
            ("2026-09-01 10:00:00", None),
        ] {
            let expected = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(rfc3339(text), expected, "{text}");
        }
    }
}
