//! Full names of keys.

use crate::tree::quoted;

/// The full name of `key` below `at`, quoted where a bare key could not hold it.
pub(crate) fn join(at: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { quoted(key) };
    match at {
        "" => key,
        _ => format!("{at}.{key}"),
    }
}
