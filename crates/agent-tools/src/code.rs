//! The six `code.*` tools: reading, listing, searching, writing and editing files, and running commands.
//!
//! What they promise together: a path is resolved once, component by component, and what it led to stays open from the
//! decision to the deed, so that a link swapped in between redirects nothing (COD-1); the facts name that very file; a
//! write replaces a file whole or not at all (COD-5).

pub(crate) mod edit_file;
mod fail;
mod list_dir;
pub(crate) mod overflow;
mod place;
mod preview;
mod read_file;
mod run_command;
mod search;
mod settings;
#[cfg(test)]
mod testing;
mod tool;
mod traverse;
mod version;
mod workspace;
mod write;
mod write_file;

pub use settings::{CodeLimits, CodeToolSettings};

use std::sync::Arc;

use crate::Tool;
use tool::Blocking;

/// The six code tools, ready to be registered.
#[must_use]
pub fn code_tools(settings: CodeToolSettings) -> Vec<Arc<dyn Tool>> {
    let workspace = workspace::Workspace::new(settings);
    vec![
        Arc::new(Blocking::new(read_file::ReadFile(workspace.clone()))),
        Arc::new(Blocking::new(list_dir::ListDir(workspace.clone()))),
        Arc::new(Blocking::new(write_file::WriteFile(workspace.clone()))),
        Arc::new(Blocking::new(edit_file::EditFile(workspace.clone()))),
        Arc::new(Blocking::new(search::Search(workspace.clone()))),
        Arc::new(Blocking::new(run_command::RunCommand(workspace))),
    ]
}

#[cfg(test)]
mod tests;
