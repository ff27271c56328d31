//! The names that the model chooses: of Tasks, of steps, and of the log file of a Task (TSK-2, WAL-1).

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::Text;

/// The longest name, in bytes.
pub const MAX_NAME_LEN: usize = 64;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{shown}\" is not a valid {kind}: {reason}")]
pub struct NameError {
    kind: &'static str,
    shown: String,
    reason: &'static str,
}

fn check(kind: &'static str, text: &str) -> Result<(), NameError> {
    let reason = if text.is_empty() {
        "it is empty"
    } else if text.len() > MAX_NAME_LEN {
        "it is longer than 64 characters"
    } else if !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-') {
        "only a-z 0-9 _ and - are allowed"
    } else {
        return Ok(());
    };
    Err(NameError { kind, shown: text.chars().take(MAX_NAME_LEN).flat_map(char::escape_debug).collect(), reason })
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $kind:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// 1 to 64 characters of `[a-z0-9_-]`. Cheap to clone; compares and hashes as its text.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks length and characters.
            ///
            /// # Errors
            /// [`NameError`] says which of them is wrong.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check($kind, text)?;
                Ok(Self(text.into()))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text(Self::parse))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": "^[a-z0-9_-]{1,64}$" })
            }
        }
    )*};
}

names! {
    /// A Task, unique among the active Tasks of its session.
    TaskId, "task_id";
    /// A step, unique in its Task.
    StepId, "step_id";
    /// The name of a Task's log file, without folder and extension.
    WalName, "wal_name";
    /// A pool of workers, as configured.
    PoolId, "worker_pool_id";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TSK-2: ids are the model's, `[a-z0-9_-]`, 1 to 64 characters. WAL-1: no path tricks in the name of a log.
    #[test]
    fn names_have_safe_characters_and_a_length() {
        for good in ["a", "step-1_b", &"x".repeat(64)] {
            assert_eq!(StepId::parse(good).unwrap().as_str(), good);
            assert_eq!(WalName::parse(good).unwrap().as_str(), good);
        }
        for (bad, reason) in [
            ("", "empty"),
            ("A", "only a-z"),
            ("a b", "only a-z"),
            ("..", "only a-z"),
            ("a/b", "only a-z"),
            ("ä", "only a-z"),
            ("a\0", "only a-z"),
            (&"x".repeat(65), "longer"),
        ] {
            for error in [TaskId::parse(bad).unwrap_err(), WalName::parse(bad).unwrap_err()] {
                assert!(error.to_string().contains(reason), "{bad:?}: {error}");
            }
            assert!(serde_json::from_value::<StepId>(bad.into()).is_err());
        }
    }
}
