//! Names of memories.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::Moment;

/// `mem_<YYYYMMDDHHMMSS>_<rand>`: when it was made, in UTC, and something that nobody else made then.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct MemoryId(String);

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id of a memory must look like mem_20261130094143_x7k2, with lowercase letters and digits at its end")]
pub struct NoMemoryId;

/// What every id begins with.
pub(super) const PREFIX: &str = "mem_";

/// Digits of the time.
const TIME: usize = 14;

/// Most characters behind the time.
const LONGEST_RAND: usize = 32;

impl MemoryId {
    /// The id of what is made now. `rand` is 1 to 32 characters of `[a-z0-9]`.
    ///
    /// # Errors
    /// When `rand` is anything else.
    pub fn new(now: &Moment, rand: &str) -> Result<Self, NoMemoryId> {
        Self::parse(&format!("{PREFIX}{}_{rand}", now.digits()))
    }

    /// Takes the text of an id.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(text: &str) -> Result<Self, NoMemoryId> {
        let (time, rand) = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).ok_or(NoMemoryId)?;
        let good_time = time.len() == TIME && time.bytes().all(|b| b.is_ascii_digit());
        let good_rand = (1..=LONGEST_RAND).contains(&rand.len())
            && rand.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if good_time && good_rand { Ok(Self(text.to_owned())) } else { Err(NoMemoryId) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for MemoryId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for MemoryId {
    type Err = NoMemoryId;

    fn from_str(text: &str) -> Result<Self, NoMemoryId> {
        Self::parse(text)
    }
}

impl TryFrom<String> for MemoryId {
    type Error = NoMemoryId;

    fn try_from(text: String) -> Result<Self, NoMemoryId> {
        Self::parse(&text)
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
