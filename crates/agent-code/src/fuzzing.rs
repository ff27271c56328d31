//! What fuzzers call. Not for anything else: it may change or go with any version.

use agent_redact::KnownSecrets;

use crate::edit_file::diff::{Names, Numbers, Patched, patch};

/// No message is longer, whatever was in the diff and the file. Bytes.
const MAX_MESSAGE: usize = 8 * 1024;

/// Applies a diff of the file called `path` to its text, and then, as if there were none, to nothing.
///
/// # Panics
/// If something does not hold that always must: what is applied changes the text, by at least one hunk; what comes
/// of it is the same every time; why it does not apply is told briefly.
pub fn apply_diff(original: &[u8], path: &str, diff: &str) {
    let (names, none) = (Names::new([path.as_bytes()]), KnownSecrets::none());
    for (text, numbers) in [(Some(original), Numbers::Count), (Some(original), Numbers::Stale), (None, Numbers::Count)]
    {
        let outcome = patch(text, &names, diff, numbers, &none);
        match &outcome {
            Ok(Patched { text: after, hunks }) => {
                assert!(*hunks > 0, "applied without a hunk");
                assert!(text != Some(after), "applied without a change");
            }
            Err(error) => {
                let message = error.to_string();
                assert!(message.len() <= MAX_MESSAGE, "a message of {} bytes: {message}", message.len());
            }
        }
        // Why it does not apply may differ: the nearest text is looked for only so long.
        assert_eq!(outcome.ok(), patch(text, &names, diff, numbers, &none).ok(), "another outcome");
    }
}
