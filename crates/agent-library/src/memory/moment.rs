//! Moments as memory files hold them. This crate reads no clock: whoever stamps a time owns one.

use std::{cmp::Ordering, fmt};

use serde::Deserialize;

/// A moment in UTC as RFC 3339 text, such as `2026-11-30T09:41:43.120Z`; parts of a second are optional.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Moment(String);

/// Why a text is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a time must look like 2026-11-30T09:41:43Z, in UTC")]
pub struct NoMoment;

/// What stands where up to the seconds; `0` is any digit.
const FORM: &[u8] = b"0000-00-00T00:00:00";

impl Moment {
    /// Takes the text of a moment.
    ///
    /// # Errors
    /// When it has another form, another zone or numbers that no clock shows.
    pub fn parse(text: &str) -> Result<Self, NoMoment> {
        let (whole, rest) = text.as_bytes().split_at_checked(FORM.len()).ok_or(NoMoment)?;
        let fits = |(have, form): (&u8, &u8)| if *form == b'0' { have.is_ascii_digit() } else { have == form };
        let fraction = rest.strip_suffix(b"Z").ok_or(NoMoment)?;
        let good_fraction = match fraction {
            [] => true,
            [b'.', digits @ ..] => (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        let number = |at: usize| (whole[at] - b'0') * 10 + (whole[at + 1] - b'0');
        let good = whole.iter().zip(FORM).all(fits)
            && good_fraction
            && (1..=12).contains(&number(5))
            && (1..=31).contains(&number(8))
            && number(11) < 24
            && number(14) < 60
            && number(17) <= 60;
        if good { Ok(Self(text.to_owned())) } else { Err(NoMoment) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `YYYYMMDDHHMMSS`.
    pub(super) fn digits(&self) -> String {
        self.0.chars().take(FORM.len()).filter(char::is_ascii_digit).collect()
    }

    /// `YYYYMMDD`.
    pub(super) fn date(&self) -> String {
        self.digits().chars().take(8).collect()
    }

    /// What sorts by time: texts of different lengths do not.
    fn key(&self) -> (&str, &str) {
        let (whole, rest) = self.0.split_at(FORM.len());
        (whole, rest.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.'))
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        // Equal moments in different words are told apart, so that order agrees with equality.
        self.key().cmp(&other.key()).then_with(|| self.0.cmp(&other.0))
    }
}

impl TryFrom<String> for Moment {
    type Error = NoMoment;

    fn try_from(text: String) -> Result<Self, NoMoment> {
        Self::parse(&text)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
