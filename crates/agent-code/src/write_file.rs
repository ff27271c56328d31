//! `code.write_file` (COD-5).

use agent_policy::Facts;
use agent_protocol::{ErrorCode, ErrorPayload, Permission};
use agent_tool::{CallContext, Prepared, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    fail, preview,
    tool::{self, CodeTool, blocking_call},
    version::{ChangedBy, HASHED_MAX},
    workspace::Workspace,
    write::Destination,
};

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
}

pub(crate) struct WriteFile(pub(crate) Workspace);

impl CodeTool for WriteFile {
    type Input = Input;
    const NAME: &'static str = "code.write_file";
    const PERMISSION: Permission = Permission::Write;
    const TAGS: &'static [&'static str] = &["code", "filesystem", "write"];

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        let place = Destination::find(&self.0, &input.path, HASHED_MAX)?;
        if place.exists() {
            self.may_overwrite(&place, &input, &context)?;
        } else if !input.create_dirs && place.needs_folders() {
            let message = format!("the folder of {} does not exist, and create_dirs is false", input.path);
            return Err(ErrorPayload::new(ErrorCode::FileNotFound, message).detail("path", input.path));
        }
        let (before, after) = (place.content.as_deref(), input.content.as_bytes());
        let preview = match place.exists() {
            true => preview::written(&place.shown, place.size(), before, after),
            false => preview::diff(&place.shown, None, after),
        };
        // Next to the options too: what is lost cannot be read in a diff.
        let lost = place.content.as_deref().is_some_and(|before| std::str::from_utf8(before).is_err());
        let dangers = lost.then(|| "the file holds bytes that are not UTF-8, and all of them are replaced".to_owned());
        let dangers = dangers.into_iter().collect();
        let facts = Facts { targets: vec![place.target.clone()], preview, dangers, ..Facts::default() };
        Ok(Prepared { facts, call: blocking_call(move || write(place, &input.content, &context)) })
    }
}

impl WriteFile {
    fn may_overwrite(&self, place: &Destination, input: &Input, context: &CallContext) -> Result<(), ErrorPayload> {
        let path = &input.path;
        if !input.overwrite {
            let message = format!("{path} exists; use code.edit_file to change it, or overwrite: true to replace it");
            return Err(fail::conflict(path, message));
        }
        if let Some(by) = place.changed_since_seen(context) {
            let message = match by {
                ChangedBy::Agent(_) => format!("{path}: {}, and you have not read that; read it first", by.who()),
                ChangedBy::Others => format!("{path} changed since you last read or wrote it; read it again first"),
            };
            return Err(fail::conflict(path, message));
        }
        Ok(())
    }
}

fn write(place: Destination, content: &str, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
    let (path, overwritten) = (place.shown.clone(), place.exists());
    let resolved = place.target.resolved.to_string_lossy().into_owned();
    place.write(content.as_bytes(), context)?;
    let written = Written { path, bytes_written: content.len(), created: !overwritten, overwritten };
    let verb = if overwritten { "overwritten" } else { "created" };
    let summary = format!("{verb}, {}", tool::counted(content.len(), "byte"));
    Ok(tool::output(&written)?.with("resolved_path", resolved).summary(summary))
}

#[cfg(test)]
mod tests;
