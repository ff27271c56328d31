//! One skill, read anew.

use std::path::{Path, PathBuf};

use super::card::Card;
use super::entry::SkillProblem;
use super::{IN_FOLDER, SkillCatalog};
use crate::frontmatter::{self, MAX_BLOCK};
use crate::shown::{self, FIELD};
use crate::source;

/// A longer body is cut. Bytes.
const MAX_BODY: usize = 256 * 1024;

/// Names that are suggested for one that is not known.
const MAX_NEAR: usize = 3;

/// What a skill says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillBody {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// BLAKE3 of all bytes of the file, in hexadecimal digits.
    pub hash: String,
    /// What is behind the frontmatter, at most 256 KiB of it.
    pub body: String,
    /// The line of the file in which it begins, from 1.
    pub first_line: usize,
    /// Whether there is more.
    pub cut: bool,
}

/// Why a skill was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// No skill has this name.
    #[error("there is no skill `{name}`{}", suggestion(.near))]
    NotFound {
        /// As it was asked for, in one line.
        name: String,
        /// Names of skills that look like it.
        near: Vec<String>,
    },
    /// It cannot be used as it is now.
    #[error("the skill in {0}")]
    Load(SkillProblem),
}

fn suggestion(near: &[String]) -> String {
    let quoted: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
    if near.is_empty() { String::new() } else { format!("; there is {}", quoted.join(", ")) }
}

impl SkillCatalog {
    /// Reads a skill by its name. Blocks. What counts is the file as it is now, not as it was when it was listed.
    ///
    /// # Errors
    /// [`SkillError::NotFound`] for a name that no file has; [`SkillError::Load`] for a file that cannot be read, is broken
    /// or has another name by now. A broken file has no name that can be trusted, so it is also found by its file's.
    pub fn load(&self, name: &str) -> Result<SkillBody, SkillError> {
        let name = name.trim();
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else {
            return Err(self.unknown(name));
        };
        let failed = |message| SkillError::Load(SkillProblem::of(&entry.path, message));
        let source = source::read(&entry.path, MAX_BODY + MAX_BLOCK).map_err(|error| failed(error.why()))?;
        let document = frontmatter::split(&source.text);
        let card = Card::read(&document).map_err(|error| SkillError::Load(SkillProblem::at(&entry.path, error)))?;
        if card.name != entry.name {
            return Err(failed(format!("the skill is called `{}` by now", card.name)));
        }
        let end = source::border(document.body, MAX_BODY);
        Ok(SkillBody {
            name: card.name,
            path: entry.path.clone(),
            hash: source.hash,
            body: document.body[..end].to_owned(),
            first_line: document.body_line,
            cut: source.more || end < document.body.len(),
        })
    }

    fn unknown(&self, name: &str) -> SkillError {
        let is_its_file = |problem: &&SkillProblem| {
            let folder = problem.path.parent().and_then(Path::file_name).filter(|_| problem.path.ends_with(IN_FOLDER));
            let named = folder.or(problem.path.file_stem());
            !problem.usable && named.is_some_and(|named| named == name)
        };
        if let Some(problem) = self.problems.iter().find(is_its_file) {
            return SkillError::Load(problem.clone());
        }
        let wanted = shown::line(name, FIELD);
        SkillError::NotFound { near: self.near(&wanted), name: wanted }
    }

    fn near(&self, name: &str) -> Vec<String> {
        let folded = name.to_lowercase();
        let distance = |known: &str| {
            let known = known.to_lowercase();
            if !folded.is_empty() && (known.contains(&folded) || folded.contains(&known)) {
                return 1;
            }
            strsim::osa_distance(&known, &folded)
        };
        let mut near: Vec<_> = self.entries.iter().map(|entry| (distance(&entry.name), &entry.name)).collect();
        near.retain(|(distance, known)| *distance <= 1 + known.chars().count() / 4);
        near.sort();
        near.into_iter().take(MAX_NEAR).map(|(_, name)| name.clone()).collect()
    }
}
