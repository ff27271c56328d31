//! One memory, as its file says it.

use std::{fmt, path::Path};

use serde::Deserialize;

use super::{MemoryCategory, MemoryId, Moment};
use crate::{
    frontmatter::{FrontmatterError, split},
    shown,
};

/// One memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryEntry {
    /// Its name for ever.
    pub id: MemoryId,
    /// Also the folder it lies in.
    pub category: MemoryCategory,
    /// One line.
    pub summary: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// When it was first written.
    pub created_at: Moment,
    /// When core changed it last.
    pub updated_at: Moment,
    /// The session in which it was said.
    pub source_session_id: String,
    /// The messages that say it (MEM-4).
    pub source_node_ids: Vec<String>,
    /// The project it belongs to (MEM-12); none if it holds for all of the user's.
    pub project: Option<String>,
    /// Below the memory folder, with `/`: `user/tea-20261130-mem_20261130094143_x7k2.md`.
    pub path: String,
    /// The text, without blank lines around it.
    pub body: String,
    /// BLAKE3 of the whole file, in hexadecimal digits: what a change is told by.
    pub hash: String,
}

/// A file that is no memory, or a broken one. It is in nobody's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryProblem {
    /// Below the memory folder.
    pub path: String,
    /// From 1, where the place is known.
    pub line: Option<usize>,
    /// From 1, where the place is known.
    pub column: Option<usize>,
    /// What is wrong, in one line.
    pub message: String,
}

/// The frontmatter of MEM-1 and MEM-12. What else stands there is a person's.
#[derive(Debug, Deserialize)]
struct Frontmatter {
    id: MemoryId,
    category: MemoryCategory,
    summary: String,
    #[serde(default)]
    tags: Vec<String>,
    created_at: Moment,
    updated_at: Moment,
    source_session_id: String,
    source_node_ids: Vec<String>,
    #[serde(default)]
    project: Option<String>,
}

impl MemoryEntry {
    /// Whether it is shown to somebody who works on a project (MEM-12).
    #[must_use]
    pub fn is_visible_in(&self, project: &str) -> bool {
        self.project.as_deref().is_none_or(|own| own == project)
    }

    /// Reads a file's bytes. `path` is `<folder>/<name>.md`.
    pub(super) fn read(folder: MemoryCategory, path: String, bytes: &[u8]) -> Result<Self, MemoryProblem> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
                let message = "a byte here is no UTF-8; save the file as UTF-8".to_owned();
                return Err(MemoryProblem { path, line: Some(line), column: None, message });
            }
        };
        let parts = split(text);
        let block = match parts.frontmatter {
            Some(block) => block,
            None if parts.unclosed => return Err(MemoryProblem::at(path, FrontmatterError::unclosed())),
            None => return Err(MemoryProblem::at(path, FrontmatterError::missing())),
        };
        let front: Frontmatter = match block.parse() {
            Ok(front) => front,
            Err(error) => return Err(MemoryProblem::at(path, error)),
        };
        if front.category != folder {
            let message = format!("it says category \"{}\" but lies in {folder}/; move it", front.category);
            return Err(MemoryProblem::of(path, message));
        }
        if !path.strip_suffix(".md").is_some_and(|stem| stem.ends_with(&format!("-{}", front.id))) {
            let message = format!("its name does not end with -{}.md, as its id demands", front.id);
            return Err(MemoryProblem::of(path, message));
        }
        Ok(Self {
            id: front.id,
            category: front.category,
            summary: front.summary,
            tags: front.tags,
            created_at: front.created_at,
            updated_at: front.updated_at,
            source_session_id: front.source_session_id,
            source_node_ids: front.source_node_ids,
            project: front.project,
            path,
            body: parts.body.trim().to_owned(),
            hash: hash(bytes),
        })
    }
}

impl MemoryProblem {
    pub(super) fn of(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, column: None, message: message.into() }
    }

    fn at(path: String, error: FrontmatterError) -> Self {
        Self { path, line: Some(error.line), column: Some(error.column), message: error.message }
    }
}

/// `path:line:column: message`.
impl fmt::Display for MemoryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown::path(Path::new(&self.path)))?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// What [`MemoryEntry::hash`] is of these bytes.
pub(super) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
