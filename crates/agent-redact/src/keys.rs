//! Secrets in the keys of JSON objects.

use agent_protocol::Object;

use crate::redacted::Redacted;

/// Renames the keys that hold a secret; true if there was one. The order stays; of two keys that become one, the later wins.
pub(crate) fn redact_keys(fields: &mut Object, redact: impl Fn(&str) -> Redacted<'_>) -> bool {
    if !fields.keys().any(|key| redact(key).hit) {
        return false;
    }
    let renamed = std::mem::take(fields).into_iter().map(|(key, value)| (redact(&key).text.into_owned(), value));
    fields.extend(renamed);
    true
}
