use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::from_stored(text.to_owned())
}

/// CLI-5: ages as people say them; a date where a count would say less.
#[test]
fn ages() {
    let then = at("2026-11-30T09:41:43.120Z");
    let start = millis(&then).unwrap();
    for (past, said) in [
        (0, "just now"),
        (999, "just now"),
        (1000, "1 s ago"),
        (59_999, "59 s ago"),
        (60_000, "1 min ago"),
        (3_599_999, "59 min ago"),
        (HOUR, "1 h ago"),
        (DAY - 1, "23 h ago"),
        (DAY, "1 day ago"),
        (2 * DAY, "2 days ago"),
        (59 * DAY, "59 days ago"),
        (LONG_AGO, "2026-11-30"),
    ] {
        assert_eq!(ago(&then, start + past), said);
    }
    assert_eq!(ago(&then, start - DAY), "just now", "a clock that was set back");
    assert_eq!(ago(&at("yesterday"), start), "yesterday");
    assert_eq!(minute(&then), "2026-11-30 09:41 UTC");
    assert_eq!(minute(&at("é")), "é");
}

#[test]
fn from_when_to_when() {
    let start = at("2026-11-30T09:41:43.120Z");
    for (to, shown) in [
        ("2026-11-30T09:41:59.999Z", "2026-11-30 09:41 UTC"),
        ("2026-11-30T09:42:00.000Z", "2026-11-30 09:41 to 09:42 UTC"),
        ("2026-12-01T09:41:43.120Z", "2026-11-30 09:41 to 2026-12-01 09:41 UTC"),
        ("2026-11-30é", "2026-11-30 09:41 to 2026-11-30é"),
    ] {
        assert_eq!(between(&start, &at(to)), shown);
    }
}

#[test]
fn moments_of_a_run() {
    for (millis, shown) in [(0, "0:00"), (7_900, "0:07"), (61_000, "1:01"), (3_723_000, "1:02:03")] {
        assert_eq!(into(millis), shown);
    }
}

/// CLI-5: spans are a number and a unit, and what is wrong with others is said.
#[test]
fn spans() {
    for (written, millis) in [
        ("30d", 30 * DAY),
        ("12h", 12 * HOUR),
        ("90min", 90 * MINUTE),
        ("5m", 5 * MINUTE),
        ("2w", 14 * DAY),
        ("0s", 0),
        ("3 d", 3 * DAY),
    ] {
        let span: Span = written.parse().unwrap();
        assert_eq!(span.before(1_000 * DAY), Timestamp::from_unix_millis(1_000 * DAY - millis), "{written}");
        assert_eq!(span.to_string(), written);
    }
    for bad in ["", "30", "d", "-3d", "3 months", "1.5h", "3D", "30d12h", "99999999999999999999d", "1e3d", "３d"] {
        let said = bad.parse::<Span>().unwrap_err();
        assert!(said.contains("30d, 12h"), "{bad}: {said}");
    }
    assert!("999999999999999999w".parse::<Span>().is_err());
    assert_eq!("9999999999d".parse::<Span>().unwrap().before(5), Timestamp::from_unix_millis(0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What was stored is read back.
    #[test]
    fn moments_are_read_back(millis in 0_u64..253_402_300_800_000) {
        prop_assert_eq!(super::millis(&Timestamp::from_unix_millis(millis)), Some(millis));
    }

    #[test]
    fn what_is_no_moment_is_none(text in "\\PC{0,30}|[0-9T:.Z-]{0,26}") {
        let moment = at(&text);
        if let Some(millis) = super::millis(&moment) {
            prop_assert!(text.starts_with(|c: char| c.is_ascii_digit() || c == '+'), "{text} is {millis}");
        }
        let _ = (ago(&moment, 0), between(&moment, &at("2026-11-30T09:41:43.120Z")));
    }
}
