//! How a project folder is named.

use std::path::Path;

use agent_store::percent_encoded;

/// A project folder as sessions name it. One that is no UTF-8 is written out byte by byte, so that no two share a name; that
/// form begins with no `/`, as every folder does.
#[must_use]
pub fn project_name(folder: &Path) -> String {
    folder.to_str().map_or_else(|| format!("bytes:{}", percent_encoded(folder)), str::to_owned)
}
