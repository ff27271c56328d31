//! What a file will be: the text out of its bytes, the change, and the bytes again.

use agent_protocol::{ErrorCode, ErrorPayload};

use super::{
    apply::{Applied, ApplyError, Edit, apply},
    diff::{DiffError, HunkError, Names, Numbers, Patched, patch},
};
use crate::{fail, preview, read_file::Encoding, write::Destination};

/// Bigger files are not edited. Bytes.
pub(super) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What a byte order mark is in UTF-8.
const MARK: &str = "\u{FEFF}";

/// What to change a file by (COD-12).
#[derive(Debug)]
pub(super) enum By {
    Edits(Vec<Edit>),
    Diff(String),
}

impl By {
    fn apply(&self, path: &str, text: &[u8], names: &Names, numbers: Numbers) -> Result<Outcome, ErrorPayload> {
        match self {
            Self::Edits(edits) => {
                let Applied { text, replacements } = apply(text, edits).map_err(|error| refused(path, &error))?;
                let replacements = (replacements != edits.len()).then_some(replacements);
                Ok(Outcome { text, edits: edits.len(), replacements })
            }
            Self::Diff(diff) => {
                let patched = patch(Some(text), names, diff, numbers);
                let Patched { text, hunks } = patched.map_err(|error| misfit(path, &error, numbers))?;
                Ok(Outcome { text, edits: hunks, replacements: None })
            }
        }
    }

    fn unit(&self) -> &'static str {
        match self {
            Self::Edits(_) => "replacement",
            Self::Diff(_) => "hunk",
        }
    }

    /// Exactly one of the two. An empty one is how some models leave a parameter out.
    pub(super) fn of(edits: Option<Vec<Edit>>, diff: Option<String>) -> Result<Self, ErrorPayload> {
        let edits = edits.filter(|edits| !edits.is_empty());
        let diff = diff.filter(|diff| !diff.is_empty());
        match (edits, diff) {
            (Some(edits), None) => Ok(Self::Edits(edits)),
            (None, Some(diff)) => Ok(Self::Diff(diff)),
            (Some(_), Some(_)) => Err(fail::invalid("edits and unified_diff are both given; give one of them")),
            (None, None) => Err(fail::invalid("there is nothing to do: give edits or unified_diff")),
        }
    }
}

/// A text after all of it.
struct Outcome {
    text: Vec<u8>,
    edits: usize,
    replacements: Option<usize>,
}

/// What the file will be.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) content: Vec<u8>,
    pub(super) preview: String,
    /// Edits or hunks.
    pub(super) edits: usize,
    /// What a person calls one of them.
    pub(super) unit: &'static str,
    /// Places that edits replaced, if they are others than one each.
    pub(super) replacements: Option<usize>,
}

/// Makes a file that does not exist.
pub(super) fn created(place: &Destination, by: &By, names: &Names) -> Result<Change, ErrorPayload> {
    let path = &place.target.requested;
    let (content, edits) = match by {
        By::Edits(edits) => match edits.as_slice() {
            [Edit { old, new, .. }] if old.is_empty() => (new.clone().into_bytes(), 1),
            _ => {
                let message = format!("{path} does not exist; to create it, give one edit with an empty old");
                return Err(ErrorPayload::new(ErrorCode::TextNotFound, message).detail("path", path.as_str()));
            }
        },
        By::Diff(diff) => {
            let numbers = Numbers::Count;
            let patched = patch(None, names, diff, numbers);
            let Patched { text, hunks } = patched.map_err(|error| misfit(path, &error, numbers))?;
            (text, hunks)
        }
    };
    Ok(Change {
        preview: preview::diff(&place.shown, None, &content),
        content,
        edits,
        unit: by.unit(),
        replacements: None,
    })
}

/// Changes a file that exists.
pub(super) fn changed(place: &Destination, by: &By, names: &Names, numbers: Numbers) -> Result<Change, ErrorPayload> {
    let path = &place.shown;
    let content = place
        .content
        .as_deref()
        .ok_or_else(|| fail::invalid(format!("{path} has more than {MAX_FILE} bytes; that is too big to edit")))?;
    let encoding = Encoding::of(content);
    let text = encoding
        .decode(content)
        .ok_or_else(|| fail::invalid(format!("{path} is not valid UTF-16; it cannot be edited without damage")))?;
    let Outcome { text: after, edits, replacements } = by.apply(path, &text, names, numbers)?;
    // EDIT-22: the text is what comes after the mark.
    let marked = |text: &[u8]| text.starts_with(MARK.as_bytes());
    if !encoding.mark().is_empty() && marked(&after) && !marked(&text) {
        return Err(fail::invalid(format!("{path} has a byte order mark already; leave U+FEFF out of the new text")));
    }
    let preview = preview::diff(path, Some(&text), &after);
    let content = encoding
        .encode(after)
        .ok_or_else(|| fail::invalid(format!("the new text of {path} cannot be written in its encoding")))?;
    Ok(Change { content, preview, edits, unit: by.unit(), replacements })
}

fn refused(path: &str, error: &ApplyError) -> ErrorPayload {
    let message = unchanged(path, error);
    match error {
        ApplyError::Pointless { edit, .. } => fail::invalid(message).detail("edit", *edit),
        ApplyError::NotFound { edit, .. } => ErrorPayload::new(ErrorCode::TextNotFound, message).detail("edit", *edit),
        ApplyError::Ambiguous { edit, count, lines } => ErrorPayload::new(ErrorCode::AmbiguousEdit, message)
            .detail("edit", *edit)
            .detail("count", *count)
            .detail("lines", lines.clone()),
    }
    .detail("path", path)
}

fn misfit(path: &str, error: &DiffError, numbers: Numbers) -> ErrorPayload {
    let message = match numbers {
        Numbers::Count => unchanged(path, error),
        Numbers::Stale => format!("{}; the file had changed since you last read it", unchanged(path, error)),
    };
    let code = match error {
        DiffError::OtherFile { .. } => ErrorCode::PatchPathMismatch,
        DiffError::Syntax { .. }
        | DiffError::NoHunk
        | DiffError::Unsupported { .. }
        | DiffError::SecondHeader { .. }
        | DiffError::Exists
        | DiffError::Missing
        | DiffError::Pointless
        | DiffError::Hunk { .. } => ErrorCode::PatchApplyFailed,
    };
    let mut payload = ErrorPayload::new(code, message).detail("path", path);
    if let DiffError::Hunk { number, problem, .. } = error {
        payload = payload.detail("hunk", *number);
        if let HunkError::Ambiguous { lines, .. } = problem {
            payload = payload.detail("lines", lines.clone());
        }
    }
    payload
}

fn unchanged(path: &str, error: &impl std::fmt::Display) -> String {
    format!("{path}: {error}; nothing was changed")
}
