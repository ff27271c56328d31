//! Fields that are always written.

use serde::{Deserialize, Deserializer};

/// A field that must be there and may be `null`.
pub(crate) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
