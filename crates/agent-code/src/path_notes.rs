//! What results say of paths that they do not show as they are.

use std::path::Path;

use agent_protocol::path_from_shown;
use agent_redact::KnownSecrets;

/// What is said where paths have bytes in them that are no text, and so stand there in another form.
pub(crate) fn escaped<'p>(mut paths: impl Iterator<Item = &'p str>) -> Option<String> {
    let note = "\\xNN in a path is a byte that is no text (\\x5C: a backslash): give the path as it is shown; only the words of a \
                command are not read so, and name it by a pattern of a shell";
    paths.any(is_escaped).then(|| note.to_owned())
}

/// Whether a text, read as a path that was shown, is another one than it looks like.
pub(crate) fn is_escaped(shown: &str) -> bool {
    *path_from_shown(shown) != *Path::new(shown)
}

/// What is said where paths hold a known secret, which nobody is shown.
pub(crate) fn masked<'p>(mut paths: impl Iterator<Item = &'p str>, secrets: &KnownSecrets) -> Option<String> {
    let note = "a path holds a value that is not shown ([secret …] stands for it), and does not lead there as it is shown: name its \
                folder, or use a pattern of a shell in code.run_command";
    let has_any = !secrets.is_empty() && paths.any(|path| secrets.redact(path).hit);
    has_any.then(|| note.to_owned())
}

/// Adds to an error about a path that is not there that it was never the path itself that was shown.
pub(crate) fn not_the_path(message: &mut String, given: Option<&str>, secrets: &KnownSecrets) {
    if let Some(placeholder) = given.and_then(|path| secrets.placeholder_in(path)) {
        message.push_str(&format!(
            "; {placeholder} stands for a value that is not shown, so this path leads nowhere: name the folder, or use a pattern of a \
             shell in code.run_command"
        ));
    }
}
