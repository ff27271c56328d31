//! Moments: what a clock outside of this crate showed.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Timestamp;
use crate::ids::Text;

/// Milliseconds since 1970-01-01T00:00:00Z. Written as RFC 3339 text, the form of all stored times (API-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

/// The last moment that RFC 3339 can write: the end of the year 9999.
const LAST: u64 = 253_402_300_799_999;

impl Moment {
    /// A moment; those after the year 9999 count as its end.
    #[must_use]
    pub fn from_millis(millis: u64) -> Self {
        Self(millis.min(LAST))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn millis(self) -> u64 {
        self.0
    }

    /// The moment `millis` later.
    #[must_use]
    pub fn plus(self, millis: u64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        Self::from_unix_millis(moment.0)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Timestamp::from(*self).as_str())
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(|text: &str| {
            let moment = Timestamp::unix_millis_of(text).filter(|millis| *millis <= LAST);
            moment.map(Self).ok_or_else(|| {
                let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                format!("\"{shown}\" is no time in UTC")
            })
        }))
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Timestamp::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// API-9: a moment is written as UTC text and read back as the same moment.
    #[test]
    fn moments_are_written_and_read_as_text() {
        for millis in [0, 1, 1_796_031_703_120, LAST, u64::MAX] {
            let moment = Moment::from_millis(millis);
            let text = serde_json::to_string(&moment).unwrap();
            assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment, "{text}");
        }
        assert!(serde_json::from_str::<Moment>("\"yesterday\"").is_err());
        assert!(serde_json::from_str::<Moment>("5").is_err());
        assert_eq!(Moment::from_millis(u64::MAX).plus(u64::MAX), Moment::from_millis(LAST));
    }
}
