//! What an instruction file says about itself, without its body.

use std::fmt::{self, Display};
use std::path::PathBuf;

use serde_json::Value;

use super::level::Level;
use super::places::Resolved;
use super::walk::Found;
use crate::frontmatter::{self, FrontmatterError, MAX_BLOCK};
use crate::shown::{self, FIELD};
use crate::source;

/// Frontmatter is looked for in so much of a file: a block of the greatest size with its fences.
const HEAD: usize = MAX_BLOCK + 64;

/// Keys of one file that are kept.
const MAX_FIELDS: usize = 16;

/// A key is shorter than a value. Characters.
const KEY: usize = 40;

/// An instruction file in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionEntry {
    /// The file, as a tool resolves its path: where a link leads.
    pub path: PathBuf,
    /// The path as it was found.
    pub named: PathBuf,
    /// The path for people and models: of a project's file from its root, of a user's with `~`. One line (INS-6).
    pub shown: String,
    /// The whole path, one line as well.
    pub shown_absolute: String,
    /// Whose it is.
    pub level: Level,
    /// Folders between the file and its root.
    pub depth: usize,
    /// What its frontmatter says, in order: keys and values as single lines (INS-6). Data.
    pub fields: Vec<(String, String)>,
    /// Why there are no fields although there should be some (INS-2).
    pub problem: Option<EntryProblem>,
}

/// What is wrong with the head of a file. The file itself may be read all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryProblem {
    /// Its frontmatter is broken.
    Frontmatter(FrontmatterError),
    /// It could not be read, for this reason.
    Unreadable(String),
}

impl InstructionEntry {
    /// The value of the first of these keys that the file has.
    #[must_use]
    pub fn field(&self, keys: &[&str]) -> Option<&str> {
        let value = |key: &&str| self.fields.iter().find(|(known, _)| known == key);
        keys.iter().find_map(value).map(|(_, value)| value.as_str())
    }
}

impl Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frontmatter(error) => write!(f, "broken frontmatter, {error}"),
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
        }
    }
}

/// Reads the head of a file that was found.
pub(super) fn describe(found: Found, level: Level, places: &Resolved) -> InstructionEntry {
    let Found { named, resolved, depth } = found;
    let shown = match level {
        Level::User => places.below_user(&named),
        Level::Project => places.below_project(&named),
    };
    let (fields, problem) = match source::head(&resolved, HEAD) {
        Err(error) => (Vec::new(), Some(EntryProblem::Unreadable(error.why()))),
        Ok(head) => match frontmatter::split(&head).frontmatter.map(|block| block.fields()) {
            None => (Vec::new(), None),
            Some(Err(error)) => (Vec::new(), Some(EntryProblem::Frontmatter(error))),
            Some(Ok(fields)) => (lines(&fields), None),
        },
    };
    InstructionEntry {
        shown: shown::path(&shown),
        shown_absolute: shown::path(&named),
        path: resolved,
        named,
        level,
        depth,
        fields,
        problem,
    }
}

fn lines(fields: &[(String, Value)]) -> Vec<(String, String)> {
    let lines = fields.iter().map(|(key, value)| (shown::line(key, KEY), shown::line(&words(value), FIELD)));
    lines.filter(|(key, value)| !key.is_empty() && !value.is_empty()).take(MAX_FIELDS).collect()
}

/// A value as somebody would say it: a list with commas, what is nested as JSON.
fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
