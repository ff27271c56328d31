//! Ids are strings with a fixed prefix and safe characters, checked by one helper (API-9, API-15).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest id that is accepted anywhere, in bytes. Long enough for every provider's tool-call ids seen so far.
const MAX_LEN: usize = 128;

/// Why a string is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{shown}\" is not a valid {kind} id: {reason}")]
pub struct IdError {
    kind: &'static str,
    shown: String,
    reason: String,
}

/// The characters of ids. There are some ids in each stored event, so each byte is looked up.
const SAFE: [bool; 256] = {
    let mut safe = [false; 256];
    let mut b: u8 = 0;
    while b < 128 {
        safe[b as usize] = b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        b += 1;
    }
    safe
};

/// The one check behind every id: prefix, length, characters.
fn check(kind: &'static str, prefix: &'static str, text: &str) -> Result<(), IdError> {
    let fail = |reason: String| {
        let shown = text.chars().take(40).flat_map(char::escape_debug).collect();
        Err(IdError { kind, shown, reason })
    };
    let Some(rest) = text.strip_prefix(prefix) else {
        return fail(format!("it must start with \"{prefix}\""));
    };
    if rest.is_empty() {
        return fail("it is empty".to_owned());
    }
    if text.len() > MAX_LEN {
        return fail(format!("it is longer than {MAX_LEN} bytes"));
    }
    if !rest.bytes().all(|b| SAFE[usize::from(b)]) {
        return fail("only A-Z a-z 0-9 _ and - are allowed".to_owned());
    }
    Ok(())
}

/// Takes a text without a copy where the format has one to lend.
pub(crate) struct Text<P>(pub(crate) P);

impl<T, E: fmt::Display, P: Fn(&str) -> Result<T, E>> Visitor<'_> for Text<P> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<F: serde::de::Error>(self, text: &str) -> Result<T, F> {
        (self.0)(text).map_err(F::custom)
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Cheap to clone; compares and hashes as its text.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The fixed prefix of this kind of id; empty where ids come from outside.
            pub const PREFIX: &'static str = $prefix;

            /// Checks prefix, length and characters.
            ///
            /// # Errors
            /// [`IdError`] says which of them is wrong.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                Self::check(text)?;
                Ok(Self(text.into()))
            }

            /// What [`parse`](Self::parse) checks, for a text that is not kept.
            ///
            /// # Errors
            /// The same.
            pub fn check(text: &str) -> Result<(), IdError> {
                check($kind, $prefix, text)
            }

            /// The id as text.
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

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = IdError;

            fn try_from(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
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
                json_schema!({
                    "type": "string",
                    "maxLength": MAX_LEN,
                    "pattern": concat!("^", $prefix, "[A-Za-z0-9_-]+$"),
                })
            }
        }
    )*};
}

ids! {
    /// A session: the durable container of a whole agent tree.
    SessionId, "session", "sess_";
    /// An agent inside a session.
    AgentId, "agent", "agent_";
    /// One execution of an agent's loop for one input.
    RunId, "run", "run_";
    /// A conversation item in the session's tree.
    NodeId, "node", "node_";
    /// One line of the timeline.
    EventId, "event", "evt_";
    /// A stored product of a run.
    ArtifactId, "artifact", "art_";
    /// One question to the person who decides about a call.
    PermissionRequestId, "permission request", "perm_";
    /// A tool call's id. Comes from the provider where that is usable, so it has no prefix of ours (API-15, PRV-5).
    ToolCallId, "tool call", "";
}

/// Builds ids that are numbered within their run (`node_<run>_<n>`), so that replaying a run gives the same ids.
impl RunId {
    /// The part after the prefix, from which ids of this run are derived.
    #[must_use]
    pub fn stem(&self) -> &str {
        &self.0[Self::PREFIX.len()..]
    }

    /// The `n`-th node of this run.
    #[must_use]
    pub fn node(&self, n: u64) -> NodeId {
        NodeId(format!("node_{}_{n}", self.stem()).into())
    }

    /// A tool-call id for a call whose provider gave none that is usable (PRV-5).
    #[must_use]
    pub fn tool_call(&self, n: u64) -> ToolCallId {
        // Short on purpose: some servers refuse ids over 40 characters.
        let stem = self.stem();
        let tail: String = stem.chars().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect();
        ToolCallId(format!("call_{tail}_{n}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// API-9: a fixed prefix and safe characters, checked by one helper.
    #[test]
    fn ids_need_their_prefix_and_safe_characters() {
        for good in ["sess_1", "sess_a-B_9"] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
        for (bad, reason) in [
            ("", "must start with"),
            ("sess_", "empty"),
            ("run_1", "must start with"),
            ("sess_a/b", "only A-Z"),
            ("sess_a\u{0}", "only A-Z"),
            ("sess_é", "only A-Z"),
            (&format!("sess_{}", "x".repeat(200)), "longer than"),
        ] {
            let error = SessionId::parse(bad).unwrap_err().to_string();
            assert!(error.contains(reason), "{bad:?}: {error}");
            assert!(serde_json::from_value::<SessionId>(bad.into()).is_err());
        }
    }

    /// API-15: ids from models and providers get character and length checks only.
    #[test]
    fn tool_call_ids_have_no_prefix() {
        assert!(ToolCallId::parse("toolu_01ABC").is_ok());
        assert!(ToolCallId::parse("9chars123").is_ok());
        assert!(ToolCallId::parse("a b").is_err());
        assert!(ToolCallId::parse("").is_err());
    }

    /// API-9: however a string becomes an id, it is checked, and the id gives it back.
    #[test]
    fn ids_are_converted_from_and_to_strings() {
        fn conversions<T>(good: &str, bad: &str)
        where
            T: FromStr<Err = IdError> + TryFrom<String, Error = IdError> + AsRef<str> + fmt::Display + Into<String>,
            T: for<'t> TryFrom<&'t str, Error = IdError>,
        {
            let id: T = good.parse().unwrap();
            assert_eq!((id.as_ref(), id.to_string().as_str()), (good, good));
            assert_eq!(T::try_from(good).unwrap().as_ref(), good);
            assert_eq!(Into::<String>::into(T::try_from(good.to_owned()).unwrap()), good);
            let errors = [bad.parse::<T>().err(), T::try_from(bad).err(), T::try_from(bad.to_owned()).err()];
            assert!(errors.iter().all(Option::is_some), "{bad:?}");
        }
        conversions::<SessionId>("sess_1", "run_1");
        conversions::<AgentId>("agent_1", "agent_");
        conversions::<RunId>("run_1", "run_a/b");
        conversions::<NodeId>("node_1", "");
        conversions::<EventId>("evt_1", "evt 1");
        conversions::<ArtifactId>("art_1", "1");
        conversions::<PermissionRequestId>("perm_1", "perm");
        conversions::<ToolCallId>("toolu_1", "a b");
    }

    #[test]
    fn ids_of_a_run_are_derived_from_it() {
        let run = RunId::parse("run_0198f00d-aaaa-7bbb-8ccc-0123456789ab").unwrap();
        assert_eq!(run.node(3).as_str(), "node_0198f00d-aaaa-7bbb-8ccc-0123456789ab_3");
        assert!(NodeId::parse(run.node(3).as_str()).is_ok());
        assert!(run.tool_call(12).as_str().len() <= 40);
    }
}
