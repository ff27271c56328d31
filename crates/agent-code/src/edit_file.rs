//! `code.edit_file` (COD-6).
//!
//! A change is applied to a working copy by pure functions that know no files ([`apply()`](apply::apply) for edits,
//! [`patch()`](diff::patch) for a diff); around them it is only found out what the text of the file is ([`change`]) and,
//! here, where the outcome goes.

mod apply;
mod change;
pub(crate) mod diff;
mod hint;

use std::{os::unix::ffi::OsStrExt, path::Path};

use agent_policy::Facts;
use agent_protocol::{ErrorPayload, Permission, path_from_shown, path_text};
use agent_redact::quote_name;
use agent_tool::{CallContext, Prepared, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    tool::{self, CodeTool, blocking_call},
    version::ChangedBy,
    workspace::Workspace,
    write::Destination,
};
use apply::Edit;
pub(crate) use apply::with_crlf;
use change::{By, Change, changed, created};
use diff::{Names, Numbers};

/// Changes a file, all or nothing: by edits of exact text, one after the other, or by unified_diff.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    path: String,
    edits: Option<Vec<Edit>>,
    /// Of this file only.
    unified_diff: Option<String>,
    /// By one edit with an empty old, or a diff.
    #[serde(default)]
    create_if_missing: bool,
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
    note: Option<String>,
}

pub(crate) struct EditFile(pub(crate) Workspace);

impl CodeTool for EditFile {
    type Input = Input;
    const NAME: &'static str = "code.edit_file";
    const PERMISSION: Permission = Permission::Write;
    const TAGS: &'static [&'static str] = &["code", "filesystem", "write"];

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        let Input { path, edits, unified_diff, create_if_missing } = input;
        let by = By::of(&path, edits, unified_diff)?;
        let place = Destination::find(&self.0, &path)?;
        if !place.exists() && !create_if_missing {
            let mut missing = place.is_missing(&self.0);
            if by.may_create() {
                missing.message.push_str("; to create it, repeat this call with create_if_missing: true");
            }
            return self.or_ask(&place, missing);
        }
        let names = self.names(&place);
        let numbers = if place.changed_since_seen(&context).is_some() { Numbers::Stale } else { Numbers::Count };
        let outcome = match place.exists() {
            true => changed(&place, &by, &names, numbers, self.0.may_tell(&place.target), &context.secrets),
            false => created(&place, &by, &names, &context.secrets),
        };
        match outcome {
            Ok(change) => {
                let mut dangers: Vec<String> = place.may_be_made(&self.0)?.into_iter().collect();
                dangers.extend(change.warning.map(str::to_owned));
                let targets = vec![place.target.clone()];
                let facts = Facts { targets, preview: change.preview.clone(), dangers, ..Facts::default() };
                Ok(Prepared { facts, call: blocking_call(move || write(place, change, &context)) })
            }
            Err(error) => self.or_ask(&place, error),
        }
    }
}

impl EditFile {
    /// Why an edit does not apply tells what is in the file: of a sensitive one even whether a text is there may be told only after
    /// somebody was asked.
    fn or_ask(&self, place: &Destination, error: ErrorPayload) -> Result<Prepared, ErrorPayload> {
        if self.0.may_tell(&place.target) {
            return Err(error);
        }
        let preview = format!("an edit of {} that does not apply: {}", quote_name(&place.shown), error.message);
        let facts = Facts { targets: vec![place.target.clone()], preview, ..Facts::default() };
        Ok(Prepared { facts, call: blocking_call(move || Err(error)) })
    }

    /// What a diff may call the file: as the call does or as results do, from the project or from the root.
    fn names(&self, place: &Destination) -> Names {
        let requested = &place.target.requested;
        let (written, shown) = (path_from_shown(requested), path_from_shown(&place.shown));
        let joined = self.0.project().join(&written);
        let texts = [Path::new(requested), Path::new(&place.shown)];
        let paths = texts.into_iter().chain([&*written, &*shown, &joined, &place.target.resolved]);
        Names::new(paths.map(|path| path.as_os_str().as_bytes()))
    }
}

fn write(place: Destination, change: Change, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
    let foreign = place.changed_since_seen(context).map(|by| match by {
        ChangedBy::Agent(_) => {
            format!("{} since you last read it; the edit was applied to its current content", by.who())
        }
        ChangedBy::Others => {
            "the file had changed since you last read it; the edit was applied to its current content".to_owned()
        }
    });
    let notes = [foreign, change.warning.map(str::to_owned), place.other_names()];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let edited = Edited {
        path: place.shown.clone(),
        edits_applied: change.edits,
        bytes_written: change.content.len(),
        replacements: change.replacements,
        created: !place.exists(),
        note,
    };
    let resolved = path_text(&place.target.resolved);
    place.write(&change.content, context)?;
    let summary = tool::counted(edited.replacements.unwrap_or(edited.edits_applied), change.unit);
    Ok(tool::output(&edited)?.with("resolved_path", resolved).summary(summary))
}

#[cfg(test)]
mod tests;
