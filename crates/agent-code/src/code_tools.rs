//! All code tools together.

use std::{path::Path, sync::Arc};

use agent_tool::Tool;

use crate::{
    edit_file::EditFile,
    list_dir::ListDir,
    place::Drafts,
    read_file::ReadFile,
    run_command::RunCommand,
    search::Search,
    settings::CodeToolSettings,
    tool::{Blocking, CodeTool},
    workspace::Workspace,
    write_file::WriteFile,
};

/// The tool with time limits of its own ([`CodeLimits`](crate::CodeLimits)), by its canonical name.
pub const RUN_COMMAND: &str = <RunCommand as CodeTool>::NAME;

/// Removes temporary files of writes that were under way when their process was killed, as far as they are noted below this home.
/// Those of processes that live stay.
pub fn clear_drafts(home: &Path) {
    Drafts::in_home(home).clear();
}

/// The six code tools, ready to be registered.
#[must_use]
pub fn code_tools(settings: CodeToolSettings) -> Vec<Arc<dyn Tool>> {
    let workspace = Workspace::new(settings);
    vec![
        Arc::new(Blocking::new(ReadFile(workspace.clone()))),
        Arc::new(Blocking::new(ListDir(workspace.clone()))),
        Arc::new(Blocking::new(WriteFile(workspace.clone()))),
        Arc::new(Blocking::new(EditFile(workspace.clone()))),
        Arc::new(Blocking::new(Search(workspace.clone()))),
        Arc::new(Blocking::new(RunCommand(workspace))),
    ]
}

#[cfg(test)]
mod tests;
