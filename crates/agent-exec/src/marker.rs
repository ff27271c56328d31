//! The variable that tells a call's descendants from everything else on the machine.

use std::{
    collections::hash_map::RandomState,
    ffi::{OsStr, OsString},
    hash::{BuildHasher, Hasher},
    os::unix::ffi::OsStrExt,
    process,
};

/// The environment variable that every program started here carries, with a value unique to the call.
///
/// A process that left the session is still found by it, unless it cleared its environment too. When a spec's `env`
/// already holds it (a program of ours that runs programs of ours), the new id is appended after a `/`, so that the
/// outer call finds the inner one's processes as well: a caller that wants this passes the variable on.
pub const CALL_MARKER: &str = "SOONG_AGENT_CALL";

/// The id of one call.
#[derive(Debug, Clone)]
pub(crate) struct Marker {
    id: String,
}

impl Marker {
    /// A fresh id: the process id for those who look at a process list, and 64 random bits, so that neither a
    /// recycled process id nor a second runtime can give the same one.
    pub(crate) fn new() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self { id: format!("{}-{random:016x}", process::id()) }
    }

    /// The value of the variable, inside the calls that `outer` names.
    pub(crate) fn value(&self, outer: Option<&OsStr>) -> OsString {
        match outer {
            Some(outer) if !outer.is_empty() => {
                let mut value = outer.to_owned();
                value.push("/");
                value.push(&self.id);
                value
            }
            _ => self.id.clone().into(),
        }
    }

    /// Whether this environment block (entries that end in NUL) carries the id.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "no environment can be read there"))]
    pub(crate) fn is_in(&self, block: &[u8]) -> bool {
        block.split(|byte| *byte == 0).any(|entry| {
            entry
                .strip_prefix(CALL_MARKER.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .is_some_and(|value| value.split(|byte| *byte == b'/').any(|id| id == self.id.as_bytes()))
        })
    }

    /// The value a spec's environment already holds.
    pub(crate) fn outer(env: &[(OsString, OsString)]) -> Option<&OsStr> {
        env.iter().rev().find(|(name, _)| name.as_bytes() == CALL_MARKER.as_bytes()).map(|(_, value)| value.as_os_str())
    }
}

#[cfg(test)]
mod tests;
