//! JSON written piece by piece.

/// Appends `before`, `text` as a JSON string and `after`: a flood must not build a tree per delta.
pub(super) fn push_json_text(bytes: &mut Vec<u8>, before: &str, text: &str, after: &str) {
    bytes.extend_from_slice(before.as_bytes());
    push_value(bytes, text);
    bytes.extend_from_slice(after.as_bytes());
}

pub(super) fn push_value(bytes: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    // Writing to memory does not fail, and neither values nor text have keys that are not strings.
    if let Err(e) = serde_json::to_writer(bytes, value) {
        panic!("serialise a reply: {e}");
    }
}
