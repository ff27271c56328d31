//! `code.list_dir` (COD-3).

mod entry;
mod flat;
mod tree;

use agent_policy::{Access, Facts};
use agent_protocol::{ArtifactId, ErrorPayload, Permission, shown_path};
use agent_redact::KnownSecrets;
use agent_tool::{CallContext, Prepared, ToolOutput};
use rustix::fs::fstat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    fail,
    overflow::{Listing, fitted},
    path_notes,
    place::{Folder, Found},
    second_names::SecondNames,
    tool::{self, CodeTool, blocking_call},
    workspace::Workspace,
};
use entry::{Entry, Pass};

/// Entries when nothing else is asked for.
const DEFAULT_LIMIT: usize = 500;
/// The most that may be asked for, and that is stored when nothing is.
const MAX_LIMIT: usize = 10_000;

/// Lists a folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    path: String,
    /// Everything below it, too, except ignored files.
    #[serde(default)]
    recursive: bool,
    /// Default 500.
    #[schemars(range(min = 1, max = 10000))]
    limit: Option<usize>,
}

/// The result, in the contract's words.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    path: String,
    entries: Vec<Entry>,
    truncated: bool,
    /// How many entries ignore rules left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<ArtifactId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// How many entries were asked for.
    #[serde(skip)]
    limit: usize,
}

impl Listing for Listed {
    fn noun(&self) -> &'static str {
        "entry"
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn summary(&self) -> Option<String> {
        let entries = tool::counted(self.entries.len(), self.noun());
        let more = if self.truncated { ", more follow" } else { "" };
        let ignored = self.ignored.map_or_else(String::new, |ignored| format!(", {ignored} ignored"));
        Some(format!("{entries}{more}{ignored}"))
    }

    fn most_shown(&self) -> usize {
        self.limit
    }

    fn cut(&mut self, len: usize, artifact: Option<&ArtifactId>) {
        self.entries.truncate(len);
        self.truncated = true;
        self.artifact_id = artifact.cloned();
    }
}

pub(crate) struct ListDir(pub(crate) Workspace);

impl CodeTool for ListDir {
    type Input = Input;
    const NAME: &'static str = "code.list_dir";
    const PERMISSION: Permission = Permission::Readonly;
    const TAGS: &'static [&'static str] = &["code", "filesystem", "readonly"];

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        let folder = match self.0.find(&input.path)? {
            Found::Folder(folder) => folder,
            Found::Entry { .. } => {
                let read = serde_json::json!({"path": input.path});
                return Err(fail::invalid(format!("{} is not a folder; call code.read_file {read}", input.path)));
            }
            Found::Missing { folder, missing } => return Err(self.0.missing(&input.path, &folder, &missing[0])),
        };
        let stat = fstat(folder.fd()).map_err(|error| fail::os("look at", &input.path, &error.into()))?;
        let names = SecondNames::new(&self.0);
        let how = if input.recursive { " and everything below it" } else { "" };
        let facts = Facts {
            targets: vec![names.target(&input.path, folder.path(), Access::List, &stat)],
            preview: format!("list {}{how}", input.path),
            ..Facts::default()
        };
        let workspace = self.0.clone();
        Ok(Prepared { facts, call: blocking_call(move || list(&workspace, &folder, &input, &context)) })
    }
}

fn list(
    workspace: &Workspace,
    folder: &Folder,
    input: &Input,
    context: &CallContext,
) -> Result<ToolOutput, ErrorPayload> {
    let shown = workspace.show(folder.path());
    folder.has_not_moved().map_err(|error| fail::conflict(&shown, format!("cannot list {shown}: {error}")))?;
    // Without a limit the entries that are not shown are stored, to read on there.
    let limit = input.limit.unwrap_or(MAX_LIMIT);
    let pass = if input.recursive {
        tree::list(workspace, folder, limit, context)?
    } else {
        flat::list(folder, limit, &context.cancel)?
    };
    let ignored = Some(pass.ignored.count).filter(|ignored| *ignored > 0);
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT);
    let note = note(&pass, limit, &context.secrets);
    let Pass { entries, truncated, .. } = pass;
    let listed = Listed { path: shown, entries, truncated, ignored, artifact_id: None, note, limit };
    fitted(listed, "entries.json", &workspace.settings().limits, context)
}

fn note(pass: &Pass, limit: usize, secrets: &KnownSecrets) -> Option<String> {
    let mut notes = Vec::new();
    if pass.truncated || pass.entries.len() > limit {
        let all = match pass.total {
            Some(total) => format!("{total} entries in all"),
            None if pass.truncated => "there are more entries".to_owned(),
            None => format!("{} entries in all", pass.entries.len()),
        };
        let more = if limit < MAX_LIMIT {
            format!("a higher limit, up to {MAX_LIMIT}, lists more")
        } else {
            format!("no more than {MAX_LIMIT} are listed: name a folder in it, or code.run_command [\"ls\",…]")
        };
        notes.push(format!("{all}; {more}"));
    }
    if let Some(ignored) = pass.ignored.named("ignored", secrets, |path| shown_path(path).into_owned()) {
        notes.push(format!("{ignored}; name one to list or read it"));
    }
    if pass.sensitive > 0 {
        notes.push(format!("{} sensitive entries are not shown", pass.sensitive));
    }
    let paths = || pass.entries.iter().map(|entry| entry.path.as_str());
    notes.extend(path_notes::escaped(paths()));
    notes.extend(path_notes::masked(paths(), secrets));
    (!notes.is_empty()).then(|| notes.join("; "))
}

#[cfg(test)]
mod tests;
