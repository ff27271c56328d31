//! What a skill says about itself.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::entry::{SkillEntry, SkillProblem};
use crate::frontmatter::{self, Block, Document, FrontmatterError, MAX_BLOCK, is_near_key};
use crate::shown::{self, FIELD};
use crate::source;

/// Frontmatter is looked for in so much of a file: a block of the greatest size with its fences.
const HEAD: usize = MAX_BLOCK + 64;

/// What every skill has.
const REQUIRED: [&str; 2] = ["name", "description"];

/// The frontmatter of a skill.
pub(super) struct Card {
    pub(super) name: String,
    description: String,
    metadata: Vec<(String, Value)>,
    /// A key that looks like a misspelt one.
    suspect: Option<FrontmatterError>,
}

#[derive(Deserialize)]
struct Required {
    name: Option<String>,
    description: Option<String>,
}

/// Reads the head of a skill's file. The problem beside the skill is a warning.
pub(super) fn describe(file: &Path) -> Result<(SkillEntry, Option<SkillProblem>), SkillProblem> {
    let head = source::head(file, HEAD).map_err(|error| SkillProblem::of(file, error.why()))?;
    let card = Card::read(&frontmatter::split(&head)).map_err(|error| SkillProblem::at(file, error))?;
    let warning = card.suspect.map(|suspect| SkillProblem { usable: true, ..SkillProblem::at(file, suspect) });
    let Card { name, description, metadata, .. } = card;
    Ok((SkillEntry { name, description, path: file.to_owned(), metadata }, warning))
}

impl Card {
    /// Nothing is filled in: a skill whose head is not understood is none (INST-02).
    pub(super) fn read(document: &Document<'_>) -> Result<Self, FrontmatterError> {
        let block = match document.frontmatter {
            Some(block) => block,
            None if document.unclosed => return Err(FrontmatterError::unclosed()),
            None => return Err(FrontmatterError::missing()),
        };
        let metadata = block.fields()?;
        // Once more for its errors: they name the place of a value of the wrong kind.
        let required: Option<Required> = block.parse()?;
        let required = required.unwrap_or(Required { name: None, description: None });
        let wanted = |value: Option<String>, key| {
            let value = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
            value.ok_or_else(|| missing(key, &metadata, &block))
        };
        let name = wanted(required.name, REQUIRED[0])?;
        if shown::line(&name, FIELD) != name || name.contains('`') {
            let message = format!("`name` must be one plain line of at most {FIELD} characters without backticks");
            return Err(block.error_at(REQUIRED[0], message));
        }
        let description = shown::line(&wanted(required.description, REQUIRED[1])?, FIELD);
        let suspect = suspect(&metadata).map(|(key, meant)| {
            let key = shown::line(key, FIELD / 4);
            block.error_at(&key, format!("`{key}` is kept as metadata; is `{meant}` meant?"))
        });
        let metadata = metadata.into_iter().filter(|(key, _)| !REQUIRED.contains(&key.as_str())).collect();
        Ok(Self { name, description, metadata, suspect })
    }
}

fn missing(key: &str, metadata: &[(String, Value)], block: &Block<'_>) -> FrontmatterError {
    match suspect(metadata).filter(|(_, meant)| *meant == key) {
        Some((near, _)) => {
            let shown = shown::line(near, FIELD / 4);
            block.error_at(near, format!("`{key}` is missing; is `{shown}` meant to be it?"))
        }
        None => block.error_at(key, format!("`{key}` is missing or empty; a skill has a name and a description")),
    }
}

/// The first key that is no known one and looks like one (INST-11).
fn suspect(metadata: &[(String, Value)]) -> Option<(&str, &'static str)> {
    let unknown = metadata.iter().map(|(key, _)| key.as_str()).filter(|key| !REQUIRED.contains(key));
    unknown.into_iter().find_map(|key| Some((key, *REQUIRED.iter().find(|known| is_near_key(key, known))?)))
}
