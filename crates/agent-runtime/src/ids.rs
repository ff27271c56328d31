//! New ids.

use agent_protocol::IdError;
use uuid::Uuid;

/// A new id of some kind. Hyphenless UUIDs have only safe characters, so parsing one cannot fail.
pub(crate) fn fresh_id<T>(prefix: &str, parse: fn(&str) -> Result<T, IdError>) -> T {
    match parse(&format!("{prefix}{}", Uuid::now_v7().simple())) {
        Ok(id) => id,
        Err(error) => unreachable!("a fresh id is valid: {error}"),
    }
}
