//! Reading rows strictly: what cannot be read is an error that names table, row and column, never a default.

use std::error::Error;
use std::sync::Arc;

use agent_protocol::{Level, Timestamp};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::de::DeserializeOwned;

use crate::error::{Cause, StoreError};

type Read<T> = Result<T, StoreError>;

/// The columns of one row, taken in the order of their SELECT. The first one names the row in errors.
pub(super) struct Fields<'r, 's> {
    table: &'static str,
    row: &'r Row<'s>,
    next: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is not a value this version knows")]
struct UnknownWord(String);

#[derive(Debug, thiserror::Error)]
#[error("{0} is neither 0 nor 1")]
struct NoFlag(i64);

#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is not a time as this program writes it")]
struct NoTime(String);

impl<'r, 's> Fields<'r, 's> {
    pub(super) fn of(table: &'static str, row: &'r Row<'s>) -> Self {
        Self { table, row, next: 0 }
    }

    pub(super) fn text(&mut self) -> Read<&'r str> {
        self.take(|value| value.as_str().map_err(cause))
    }

    pub(super) fn optional_text(&mut self) -> Read<Option<&'r str>> {
        self.take(|value| value.as_str_or_null().map_err(cause))
    }

    pub(super) fn bytes(&mut self) -> Read<&'r [u8]> {
        self.take(|value| value.as_blob().map_err(cause))
    }

    /// A number that never is negative.
    pub(super) fn count<T: TryFrom<i64, Error: Error + Send + Sync + 'static>>(&mut self) -> Read<T> {
        self.take(|value| T::try_from(value.as_i64().map_err(cause)?).map_err(cause))
    }

    /// 0 or 1.
    pub(super) fn flag(&mut self) -> Read<bool> {
        self.take(|value| match value.as_i64().map_err(cause)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(cause(NoFlag(other))),
        })
    }

    pub(super) fn optional_count<T: TryFrom<i64, Error: Error + Send + Sync + 'static>>(&mut self) -> Read<Option<T>> {
        self.take(|value| {
            value.as_i64_or_null().map_err(cause)?.map(|number| T::try_from(number).map_err(cause)).transpose()
        })
    }

    /// An id, or whatever else has a checked text form.
    pub(super) fn parsed<T, E: Error + Send + Sync + 'static>(
        &mut self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Read<T> {
        self.take(|value| parse(value.as_str().map_err(cause)?).map_err(cause))
    }

    pub(super) fn optional<T, E: Error + Send + Sync + 'static>(
        &mut self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Read<Option<T>> {
        self.take(|value| value.as_str_or_null().map_err(cause)?.map(|text| parse(text).map_err(cause)).transpose())
    }

    /// A value of a closed list.
    pub(super) fn word<T>(&mut self, from_stored: fn(&str) -> Option<T>) -> Read<T> {
        self.take(|value| word(value.as_str().map_err(cause)?, from_stored))
    }

    pub(super) fn optional_word<T>(&mut self, from_stored: fn(&str) -> Option<T>) -> Read<Option<T>> {
        self.take(|value| value.as_str_or_null().map_err(cause)?.map(|text| word(text, from_stored)).transpose())
    }

    pub(super) fn json<T: DeserializeOwned>(&mut self) -> Read<T> {
        self.take(|value| serde_json::from_str(value.as_str().map_err(cause)?).map_err(cause))
    }

    pub(super) fn optional_json<T: DeserializeOwned>(&mut self) -> Read<Option<T>> {
        self.take(|value| {
            value.as_str_or_null().map_err(cause)?.map(|text| serde_json::from_str(text).map_err(cause)).transpose()
        })
    }

    pub(super) fn time(&mut self) -> Read<Timestamp> {
        self.take(|value| time(value.as_str().map_err(cause)?))
    }

    pub(super) fn optional_time(&mut self) -> Read<Option<Timestamp>> {
        self.take(|value| value.as_str_or_null().map_err(cause)?.map(time).transpose())
    }

    /// An error about the column taken last.
    pub(super) fn corrupt(&self, source: impl Error + Send + Sync + 'static) -> StoreError {
        self.corrupt_at(self.next.saturating_sub(1), Arc::new(source))
    }

    fn take<T>(&mut self, read: impl FnOnce(ValueRef<'r>) -> Result<T, Cause>) -> Read<T> {
        let at = self.next;
        self.next += 1;
        self.row.get_ref(at).map_err(cause).and_then(read).map_err(|source| self.corrupt_at(at, source))
    }

    /// The row's id, as far as it can be read.
    pub(super) fn id_of(row: &Row<'_>) -> String {
        match row.get_ref(0) {
            Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            Ok(other) => format!("{other:?}"),
            Err(_) => "without columns".to_owned(),
        }
    }

    fn corrupt_at(&self, at: usize, source: Cause) -> StoreError {
        let id = Self::id_of(self.row);
        let column = self.row.as_ref().column_name(at).unwrap_or("(missing column)").to_owned();
        StoreError::CorruptRow { table: self.table, id, column, source }
    }
}

fn cause(error: impl Error + Send + Sync + 'static) -> Cause {
    Arc::new(error)
}

fn word<T>(text: &str, from_stored: fn(&str) -> Option<T>) -> Result<T, Cause> {
    from_stored(text).ok_or_else(|| cause(UnknownWord(text.to_owned())))
}

/// A level, by its stored string.
pub(super) fn level(text: &str) -> Option<Level> {
    [Level::Debug, Level::Info, Level::Warning, Level::Error].into_iter().find(|level| level.as_str() == text)
}

/// Times are written in one form only, so that they also sort as text.
fn time(text: &str) -> Result<Timestamp, Cause> {
    const FORM: &[u8] = b"0000-00-00T00:00:00.000Z";
    let fits = |(have, want): (u8, &u8)| if *want == b'0' { have.is_ascii_digit() } else { have == *want };
    if text.len() == FORM.len() && text.bytes().zip(FORM).all(fits) {
        return Ok(Timestamp::from_stored(text.to_owned()));
    }
    Err(cause(NoTime(text.to_owned())))
}

#[cfg(test)]
mod tests;
