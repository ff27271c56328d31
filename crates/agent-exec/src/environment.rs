//! The environment of a program: what is on a list, and nothing else.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

/// The variables of `source` whose names are in `allow`, in the order of `allow`, each once.
///
/// Names that are not set, and names or values that no environment can hold (empty name, `=` in a name, NUL), are left
/// out. `source` is usually the environment of the process as its owner read it once.
pub fn env_from_allowlist(allow: &[String], source: &dyn Fn(&str) -> Option<OsString>) -> Vec<(OsString, OsString)> {
    let mut seen = HashSet::new();
    allow
        .iter()
        .filter(|name| is_name(OsStr::new(name)) && seen.insert(name.as_str()))
        .filter_map(|name| Some((OsString::from(name), source(name)?)))
        .filter(|(_, value)| !value.as_bytes().contains(&0))
        .collect()
}

/// Whether an environment can hold a variable of this name.
pub(crate) fn is_name(name: &OsStr) -> bool {
    !name.is_empty() && !name.as_bytes().iter().any(|byte| matches!(byte, b'=' | 0))
}

#[cfg(test)]
mod tests;
