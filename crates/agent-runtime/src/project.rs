//! How a project folder is named.

use std::path::Path;

use agent_protocol::path_text;

/// A project folder as sessions name it. One that is no UTF-8 is written out byte by byte, so that no two share a name; that
/// form begins with no `/`, as every folder does.
#[must_use]
pub fn project_name(folder: &Path) -> String {
    path_text(folder)
}
