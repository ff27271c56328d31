//! `code.edit_file` (COD-6).
//!
//! A change is applied to a working copy by a pure function that knows no files ([`apply()`]); here it is only found out
//! what the text of the file is and where the outcome goes.

mod apply;
mod hint;

use agent_policy::Facts;
use agent_protocol::{ErrorCode, ErrorPayload, Permission};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    fail, preview,
    read_file::Encoding,
    tool::{self, CodeTool, blocking_call},
    workspace::Workspace,
    write::Destination,
};
use crate::{CallContext, Prepared, ToolOutput};
use apply::{Applied, ApplyError, apply};

/// Bigger files are not edited. Bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Replaces exact text in a file: all edits, one after the other, or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    path: String,
    edits: Vec<Edit>,
    /// By one edit with an empty old.
    #[serde(default)]
    create_if_missing: bool,
}

// No doc comment: the model is told enough by the fields.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// Must occur exactly once, unless replace_all.
    pub(crate) old: String,
    pub(crate) new: String,
    #[serde(default)]
    pub(crate) replace_all: bool,
}

/// The result, in the contract's words.
#[derive(Serialize)]
struct Edited {
    path: String,
    edits_applied: usize,
    bytes_written: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    replacements: Option<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

pub(crate) struct EditFile(pub(crate) Workspace);

impl CodeTool for EditFile {
    type Input = Input;
    const NAME: &'static str = "code.edit_file";
    const PERMISSION: Permission = Permission::Write;
    const TAGS: &'static [&'static str] = &["code", "filesystem", "write"];

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        if input.edits.is_empty() {
            return Err(fail::invalid("edits is empty: there is nothing to do"));
        }
        let place = Destination::find(&self.0, &input.path, MAX_FILE)?;
        let outcome = if place.exists() { changed(&place, &input.edits) } else { self.created(&place, &input) };
        let targets = vec![place.target.clone()];
        match outcome {
            Ok(change) => {
                let facts = Facts { targets, preview: change.preview.clone(), ..Facts::default() };
                Ok(Prepared { facts, call: blocking_call(move || write(place, change, &context)) })
            }
            // Why an edit does not apply tells what is in the file. Of a sensitive one that may be told only after
            // somebody was asked.
            Err(error) if self.is_sensitive(&place) => {
                let preview = format!("an edit of {} that does not apply: {}", place.shown, error.message);
                let facts = Facts { targets, preview, ..Facts::default() };
                Ok(Prepared { facts, call: blocking_call(move || Err(error)) })
            }
            Err(error) => Err(error),
        }
    }
}

impl EditFile {
    fn is_sensitive(&self, place: &Destination) -> bool {
        let (rules, target) = (self.0.rules(), &place.target);
        let written = rules.as_written(&target.requested, self.0.project());
        let named = |path| rules.sensitive(path).is_some();
        named(&target.resolved) || named(&written) || !target.aliases.is_empty()
    }

    fn created(&self, place: &Destination, input: &Input) -> Result<Change, ErrorPayload> {
        if !input.create_if_missing {
            return Err(place.is_missing(&self.0));
        }
        match input.edits.as_slice() {
            [Edit { old, new, .. }] if old.is_empty() => Ok(Change {
                preview: preview::diff(&place.shown, None, new.as_bytes()),
                content: new.clone().into_bytes(),
                edits: 1,
                replacements: 1,
            }),
            _ => {
                let message = format!("{} does not exist; to create it, give one edit with an empty old", input.path);
                Err(ErrorPayload::new(ErrorCode::TextNotFound, message).detail("path", input.path.as_str()))
            }
        }
    }
}

/// What the file will be.
#[derive(Debug)]
struct Change {
    content: Vec<u8>,
    preview: String,
    edits: usize,
    replacements: usize,
}

fn changed(place: &Destination, edits: &[Edit]) -> Result<Change, ErrorPayload> {
    let path = &place.shown;
    let content = place
        .content
        .as_deref()
        .ok_or_else(|| fail::invalid(format!("{path} has more than {MAX_FILE} bytes; that is too big to edit")))?;
    let encoding = Encoding::of(content);
    let text = encoding
        .decode(content)
        .ok_or_else(|| fail::invalid(format!("{path} is not valid UTF-16; it cannot be edited without damage")))?;
    let Applied { text: after, replacements } = apply(&text, edits).map_err(|error| refused(path, &error))?;
    let preview = preview::diff(path, Some(&text), &after);
    let content = encoding
        .encode(after)
        .ok_or_else(|| fail::invalid(format!("the new text of {path} cannot be written in its encoding")))?;
    Ok(Change { content, preview, edits: edits.len(), replacements })
}

fn refused(path: &str, error: &ApplyError) -> ErrorPayload {
    let message = format!("{path}: {error}; nothing was changed");
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

fn write(place: Destination, change: Change, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
    let note = "the file had changed since you last read it; the edit was applied to its current content";
    let edited = Edited {
        path: place.shown.clone(),
        edits_applied: change.edits,
        bytes_written: change.content.len(),
        replacements: (change.replacements != change.edits).then_some(change.replacements),
        created: !place.exists(),
        note: place.changed_since_seen(context).then_some(note),
    };
    let resolved = place.target.resolved.to_string_lossy().into_owned();
    place.write(&change.content, context)?;
    let summary = tool::counted(edited.replacements.unwrap_or(edited.edits_applied), "replacement");
    Ok(tool::output(&edited)?.with("resolved_path", resolved).summary(summary))
}

#[cfg(test)]
mod tests;
