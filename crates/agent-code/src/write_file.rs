//! `code.write_file` (COD-5).

mod form;

use agent_policy::Facts;
use agent_protocol::{ErrorCode, ErrorPayload, Permission, path_text};
use agent_tool::{CallContext, Prepared, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    fail, next_call, preview,
    tool::{self, CodeTool, blocking_call},
    version::ChangedBy,
    workspace::Workspace,
    write::Destination,
};
use form::Kept;

/// Writes a whole file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    path: String,
    content: String,
    #[serde(default = "yes")]
    create_dirs: bool,
    /// Needed for a file that exists.
    #[serde(default)]
    overwrite: bool,
}

fn yes() -> bool {
    true
}

/// The result, in the contract's words.
#[derive(Serialize)]
struct Written {
    path: String,
    bytes_written: usize,
    created: bool,
    overwritten: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(crate) struct WriteFile(pub(crate) Workspace);

impl CodeTool for WriteFile {
    type Input = Input;
    const NAME: &'static str = "code.write_file";
    const PERMISSION: Permission = Permission::Write;
    const TAGS: &'static [&'static str] = &["code", "filesystem", "write"];

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        let place = Destination::find(&self.0, &input.path)?;
        if place.exists() {
            self.may_overwrite(&place, &input, &context)?;
        } else if !input.create_dirs && place.needs_folders() {
            let message = format!(
                "the folder of {0} does not exist, and create_dirs is false; leave create_dirs out to make it",
                input.path
            );
            return Err(ErrorPayload::new(ErrorCode::FileNotFound, message).detail("path", input.path));
        }
        let mut dangers: Vec<String> = place.may_be_made(&self.0)?.into_iter().collect();
        let kept = Kept::of(place.content.as_deref(), &input.content);
        let preview = match &place.content {
            None if place.exists() => preview::written_unread(&place.shown, place.size(), input.content.as_bytes()),
            _ => kept.preview(&place.shown, place.content.as_deref()),
        };
        // Next to the options too: what is lost cannot be read in a diff.
        dangers.extend(kept.lost.clone());
        let facts = Facts { targets: vec![place.target.clone()], preview, dangers, ..Facts::default() };
        Ok(Prepared { facts, call: blocking_call(move || write(place, &kept, &context)) })
    }
}

impl WriteFile {
    fn may_overwrite(&self, place: &Destination, input: &Input, context: &CallContext) -> Result<(), ErrorPayload> {
        let path = &input.path;
        if !input.overwrite {
            return Err(fail::conflict(path, format!("{path} exists{}", self.how_to_change(place, input, context))));
        }
        if let Some(by) = place.changed_since_seen(context) {
            let message = match by {
                ChangedBy::Agent(_) => format!("{path}: {}, and you have not read that; read it first", by.who()),
                ChangedBy::Others => format!("{path} changed since you last read or wrote it; read it again first"),
            };
            let example = serde_json::json!({"path": path});
            return Err(fail::conflict(path, format!("{message}, by code.read_file {example}")));
        }
        Ok(())
    }

    /// What to call instead, by the words of the call itself (FND-32).
    fn how_to_change(&self, place: &Destination, input: &Input, context: &CallContext) -> String {
        let path = &input.path;
        let content = place.content.as_deref().filter(|_| self.0.may_tell(&place.target));
        if content == Some(input.content.as_bytes()) {
            return ", with this very content: there is nothing to do".to_owned();
        }
        let edit = content
            .and_then(|content| next_call::edit(path, content, &input.content))
            .filter(|edit| next_call::can_be_given(edit, &context.secrets));
        match edit {
            Some(edit) => format!(
                "\nTo make it what you gave, call code.edit_file {edit}; to replace all of it, repeat this call with overwrite: true"
            ),
            None => {
                "; change a part of it by code.edit_file, or repeat this call with overwrite: true to replace all of it"
                    .to_owned()
            }
        }
    }
}

fn write(place: Destination, kept: &Kept, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
    let (path, overwritten) = (place.shown.clone(), place.exists());
    let resolved = path_text(&place.target.resolved);
    let notes: Vec<String> = kept.note.iter().chain(&kept.lost).cloned().chain(place.other_names()).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    place.write(&kept.content, context)?;
    let bytes_written = kept.content.len();
    let written = Written { path, bytes_written, created: !overwritten, overwritten, note };
    let verb = if overwritten { "overwritten" } else { "created" };
    let summary = format!("{verb}, {}", tool::counted(bytes_written, "byte"));
    Ok(tool::output(&written)?.with("resolved_path", resolved).summary(summary))
}

#[cfg(test)]
mod tests;
