//! A skill, or what is wrong with its file.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::frontmatter::FrontmatterError;
use crate::shown;

/// A skill in the catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillEntry {
    /// What the model calls it. One line, as it stands in the file.
    pub name: String,
    /// What it is good for. One line (INS-6).
    pub description: String,
    /// The file.
    pub path: PathBuf,
    /// The other keys of its frontmatter, in order.
    pub metadata: Vec<(String, Value)>,
}

/// What is wrong with a file among the skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProblem {
    /// The file, or the folder of skills itself.
    pub path: PathBuf,
    /// The line of the file, where one is to blame.
    pub line: Option<usize>,
    /// Its column, in characters.
    pub column: Option<usize>,
    /// One line.
    pub message: String,
    /// Whether the skill can be used all the same: it is only a warning then.
    pub usable: bool,
}

impl SkillProblem {
    pub(super) fn of(path: &Path, message: String) -> Self {
        Self { path: path.to_owned(), line: None, column: None, message, usable: false }
    }

    pub(super) fn at(path: &Path, error: FrontmatterError) -> Self {
        let (line, column) = (Some(error.line), Some(error.column));
        Self { line, column, ..Self::of(path, error.message) }
    }
}

impl Display for SkillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown::path(&self.path))?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ", line {line}, column {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}
