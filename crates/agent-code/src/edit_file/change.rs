//! What a file will be: the text out of its bytes, the change, and the bytes again.

use std::borrow::Cow;

use agent_protocol::{ErrorCode, ErrorPayload, TextEncoding};
use agent_redact::KnownSecrets;

use super::{
    apply::{Applied, ApplyError, Edit, apply},
    diff::{DiffError, HunkError, Names, Numbers, Patched, patch},
};
use crate::{
    fail, next_call,
    preview::{self, Regions},
    write::{Destination, MAX_READ},
};

/// What a byte order mark is in UTF-8.
const MARK: &str = "\u{FEFF}";

/// What to change a file by (COD-12).
#[derive(Debug)]
pub(super) enum By {
    Edits(Vec<Edit>),
    Diff(String),
}

impl By {
    fn apply(&self, file: &File<'_>, names: &Names, numbers: Numbers) -> Result<Outcome, ErrorPayload> {
        match self {
            Self::Edits(edits) => {
                let applied = apply(file.text, edits, file.secrets);
                let Applied { text, replacements, regions } = applied.map_err(|error| refused(file, edits, &error))?;
                let replacements = (replacements != edits.len()).then_some(replacements);
                Ok(Outcome { text, edits: edits.len(), replacements, regions: Some(regions) })
            }
            Self::Diff(diff) => {
                let patched = patch(Some(file.text), names, diff, numbers, file.secrets);
                let Patched { text, hunks } = patched.map_err(|error| misfit(file, &error, numbers))?;
                Ok(Outcome { text, edits: hunks, replacements: None, regions: None })
            }
        }
    }

    /// Whether all it puts in is ASCII, which nearly every encoding writes in the same bytes.
    fn adds_ascii_only(&self) -> bool {
        match self {
            Self::Edits(edits) => edits.iter().all(|edit| edit.new.is_ascii()),
            Self::Diff(diff) => diff.lines().filter(|line| line.starts_with('+')).all(str::is_ascii),
        }
    }

    /// Whether it would make a file that does not exist.
    pub(super) fn may_create(&self) -> bool {
        match self {
            Self::Edits(edits) => matches!(edits.as_slice(), [edit] if edit.old.is_empty()),
            Self::Diff(diff) => diff.lines().any(|line| line.trim_end() == "--- /dev/null"),
        }
    }

    fn unit(&self) -> &'static str {
        match self {
            Self::Edits(_) => "replacement",
            Self::Diff(_) => "hunk",
        }
    }

    /// Exactly one of the two. An empty one is how some models leave a parameter out.
    pub(super) fn of(path: &str, edits: Option<Vec<Edit>>, diff: Option<String>) -> Result<Self, ErrorPayload> {
        let edits = edits.filter(|edits| !edits.is_empty());
        let diff = diff.filter(|diff| !diff.is_empty());
        match (edits, diff) {
            (Some(edits), None) => Ok(Self::Edits(edits)),
            (None, Some(diff)) => Ok(Self::Diff(diff)),
            (Some(_), Some(_)) => Err(fail::invalid("edits and unified_diff are both given; give one of them")),
            (None, None) => {
                let edit = serde_json::json!({"old": "text that is there", "new": "text to put in its place"});
                let example = serde_json::json!({"path": path, "edits": [edit]});
                Err(fail::invalid(format!("there is nothing to do: give edits or unified_diff\nsuch as {example}")))
            }
        }
    }
}

/// A file that is to be changed, as far as its text is concerned.
struct File<'t> {
    path: &'t str,
    text: &'t [u8],
    /// Whether the model may be told what is in it.
    tell: bool,
    /// What is told of it holds none of these.
    secrets: &'t KnownSecrets,
}

impl File<'_> {
    /// The text as it may be told, line by line.
    fn shown(&self) -> Cow<'_, [u8]> {
        self.secrets.redact_lines(self.text)
    }

    /// Lines for a failure.
    fn lines(&self, around: Option<usize>) -> String {
        if self.tell { next_call::lines(&self.shown(), around) } else { String::new() }
    }
}

/// A text after all of it.
struct Outcome {
    text: Vec<u8>,
    edits: usize,
    replacements: Option<usize>,
    regions: Option<Regions>,
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
    /// What whoever is asked should know, and who reads the result.
    pub(super) warning: Option<&'static str>,
}

/// Text in UTF-8 among bytes that are none.
const OTHER_ENCODING: &str = "the file holds bytes that are not UTF-8, so it may be in another encoding (such as Latin-1), and the \
                              new text, which is not only ASCII, is written as UTF-8";

/// Makes a file that does not exist.
pub(super) fn created(
    place: &Destination,
    by: &By,
    names: &Names,
    secrets: &KnownSecrets,
) -> Result<Change, ErrorPayload> {
    let path = &place.target.requested;
    let (content, edits) = match by {
        By::Edits(edits) => match edits.as_slice() {
            [Edit { old, new, .. }] if old.is_empty() => (new.clone().into_bytes(), 1),
            _ => {
                let new = edits.first().map(|edit| next_call::text(&edit.new)).unwrap_or_default();
                let example =
                    serde_json::json!({"path": path, "edits": [{"old": "", "new": new}], "create_if_missing": true});
                let message =
                    format!("{path} does not exist; to create it, give one edit with an empty old\nas {example}");
                return Err(ErrorPayload::new(ErrorCode::TextNotFound, message).detail("path", path.as_str()));
            }
        },
        By::Diff(diff) => {
            let numbers = Numbers::Count;
            let patched = patch(None, names, diff, numbers, secrets);
            let file = File { path, text: b"", tell: false, secrets };
            let Patched { text, hunks } = patched.map_err(|error| misfit(&file, &error, numbers))?;
            (text, hunks)
        }
    };
    Ok(Change {
        preview: preview::diff(&place.shown, None, &content),
        content,
        edits,
        unit: by.unit(),
        replacements: None,
        warning: None,
    })
}

/// Changes a file that exists. `tell`: what is in it may be told where the change does not apply.
pub(super) fn changed(
    place: &Destination,
    by: &By,
    names: &Names,
    numbers: Numbers,
    tell: bool,
    secrets: &KnownSecrets,
) -> Result<Change, ErrorPayload> {
    let path = &place.shown;
    let content = place
        .content
        .as_deref()
        .ok_or_else(|| fail::invalid(format!("{path} has more than {MAX_READ} bytes; that is too big to edit")))?;
    let encoding = TextEncoding::of(content);
    let text = encoding.decode(content).ok_or_else(|| {
        fail::invalid(format!("{path} is {}; it cannot be edited without damage", not_edited(encoding)))
    })?;
    let file = File { path, text: &text, tell, secrets };
    let Outcome { text: after, edits, replacements, regions } = by.apply(&file, names, numbers)?;
    // EDIT-22: the text is what comes after the mark.
    let marked = |text: &[u8]| text.starts_with(MARK.as_bytes());
    if !encoding.mark().is_empty() && marked(&after) && !marked(&text) {
        return Err(fail::invalid(format!("{path} has a byte order mark already; leave U+FEFF out of the new text")));
    }
    let preview = preview::diff_at(path, Some(&text), &after, regions.as_ref());
    let is_other = !by.adds_ascii_only() && std::str::from_utf8(&text).is_err();
    let content = encoding
        .encode(after)
        .ok_or_else(|| fail::invalid(format!("the new text of {path} cannot be written in its encoding")))?;
    let warning = is_other.then_some(OTHER_ENCODING);
    Ok(Change { content, preview, edits, unit: by.unit(), replacements, warning })
}

fn not_edited(encoding: TextEncoding) -> &'static str {
    match encoding {
        TextEncoding::Utf32 => "UTF-32, which is not read: convert it to UTF-8 first",
        _ => "not valid UTF-16",
    }
}

/// What failed, and what the next call needs to know (FND-32).
fn refused(file: &File<'_>, edits: &[Edit], error: &ApplyError) -> ErrorPayload {
    let path = file.path;
    let told = match error {
        ApplyError::NotFound { edit, .. } if !file.tell => {
            unchanged(path, &format!("edits[{edit}]: old was not found"))
        }
        _ => unchanged(path, error),
    };
    match error {
        ApplyError::Pointless { edit, .. } => {
            let empty = edits.get(*edit).filter(|edit| edit.old.is_empty());
            let how = empty.map_or_else(String::new, |edit| how_to_add(file, edit));
            fail::invalid(format!("{told}{how}{}", file.lines(None))).detail("edit", *edit)
        }
        ApplyError::NotFound { edit, near, .. } => {
            let message = format!("{told}{}", file.lines(*near));
            ErrorPayload::new(ErrorCode::TextNotFound, message).detail("edit", *edit)
        }
        ApplyError::Ambiguous { edit, count, lines, .. } => {
            let first = lines.first().map(|line| line - 1);
            ErrorPayload::new(ErrorCode::AmbiguousEdit, format!("{told}{}", file.lines(first)))
                .detail("edit", *edit)
                .detail("count", *count)
                .detail("lines", lines.clone())
        }
    }
    .detail("path", path)
}

/// How to add text to a file that exists, by the words of the call itself.
fn how_to_add(file: &File<'_>, edit: &Edit) -> String {
    let new = next_call::text(&edit.new);
    if file.tell && file.text.is_empty() {
        let example = serde_json::json!({"path": file.path, "content": new, "overwrite": true});
        return format!("\nTo give it content, call code.write_file {example}");
    }
    let shown = file.shown();
    let text = std::str::from_utf8(&shown).ok().filter(|_| file.tell);
    let last = text.and_then(|text| text.lines().rfind(|line| !line.trim().is_empty()));
    let only = last.filter(|last| {
        let can_be_given = last.len() <= 200 && next_call::can_be_given(last, file.secrets);
        can_be_given && text.is_some_and(|text| next_call::is_once(text, last))
    });
    let old = only.unwrap_or("a line that is there");
    let example = serde_json::json!({"path": file.path, "edits": [{"old": old, "new": format!("{old}\n{new}")}]});
    format!(
        "\nTo add text, give a line that is there as old, and that line with the text as new: {example}; to replace the whole file, \
         write it with overwrite"
    )
}

fn misfit(file: &File<'_>, error: &DiffError, numbers: Numbers) -> ErrorPayload {
    let path = file.path;
    let told = match error {
        DiffError::Hunk { number, problem: HunkError::NotFound { .. }, .. } if !file.tell => {
            unchanged(path, &format!("hunk {number} was not found"))
        }
        _ => unchanged(path, error),
    };
    let lines = match error {
        DiffError::Hunk { problem: HunkError::Ambiguous { lines, .. }, .. } => {
            file.lines(lines.first().map(|line| line - 1))
        }
        DiffError::Hunk { .. } | DiffError::Pointless | DiffError::Exists => file.lines(None),
        _ => String::new(),
    };
    let message = match numbers {
        Numbers::Count => format!("{told}{lines}"),
        Numbers::Stale => format!("{told}; the file had changed since you last read it{lines}"),
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
