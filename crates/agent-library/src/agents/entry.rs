//! A definition as its file has it, or what is wrong with the file.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::frontmatter::FrontmatterError;
use crate::shown;

/// What a file says. Whether its fields are good for anything is not judged here.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentFile {
    /// The file.
    pub path: PathBuf,
    /// BLAKE3 of its bytes, in hexadecimal digits.
    pub hash: String,
    /// The id, as it stands in the file.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What the agent is good for.
    pub description: String,
    /// A model profile: a name, or a table.
    pub model_profile: Option<Value>,
    /// Tools it likes.
    pub suggested_tools: Vec<String>,
    /// Free words.
    pub tags: Vec<String>,
    /// `<source>:<id>` of the definition it replaces.
    pub overrides: Option<String>,
    /// System instructions: what is behind the frontmatter, without blank lines around it.
    pub body: String,
}

/// What is wrong with a file among the definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFileProblem {
    /// The file, or the folder itself.
    pub path: PathBuf,
    /// The line of the file, where one is to blame.
    pub line: Option<usize>,
    /// Its column, in characters.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl AgentFileProblem {
    /// Of a file as a whole.
    #[must_use]
    pub fn of(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, column: None, message: message.into() }
    }

    pub(super) fn at(path: &Path, error: FrontmatterError) -> Self {
        let (line, column) = (Some(error.line), Some(error.column));
        Self { line, column, ..Self::of(path, error.message) }
    }
}

impl Display for AgentFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown::path(&self.path))?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ", line {line}, column {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}
