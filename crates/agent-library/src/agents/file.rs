//! One file: its frontmatter, and what is behind it.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::entry::{AgentFile, AgentFileProblem};
use crate::frontmatter::{self, Block, FrontmatterError, MAX_BLOCK, is_near_key};
use crate::shown::{self, FIELD};
use crate::source;

/// A longer file is not taken: the greatest body, and the greatest frontmatter with its fences. Bytes.
const MAX_FILE: usize = 256 * 1024 + MAX_BLOCK + 64;

/// What every definition says.
const REQUIRED: [&str; 3] = ["id", "name", "description"];

/// What it may say besides.
const OPTIONAL: [&str; 4] = ["model_profile", "suggested_tools", "tags", "overrides"];

/// What other products call the same.
const ELSEWHERE: [(&str, &str); 3] = [("tools", "suggested_tools"), ("model", "model_profile"), ("title", "name")];

#[derive(Default, Deserialize)]
struct Head {
    id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    model_profile: Option<Value>,
    suggested_tools: Option<Vec<String>>,
    tags: Option<Vec<String>>,
    overrides: Option<String>,
}

/// Reads the file behind a name; `path` is what messages call it.
pub(super) fn read(path: &Path, target: &Path) -> Result<AgentFile, AgentFileProblem> {
    let problem = |message: String| AgentFileProblem::of(path, message);
    let source = source::read(target, MAX_FILE).map_err(|error| problem(error.why()))?;
    if source.more {
        return Err(problem(format!("has {} bytes; at most {MAX_FILE} are read", source.bytes)));
    }
    if !source.is_text || source.text.contains('\0') {
        return Err(problem("is not text in UTF-8 or UTF-16: save it as UTF-8".to_owned()));
    }
    let document = frontmatter::split(&source.text);
    let block = match document.frontmatter {
        Some(block) => Ok(block),
        None if document.unclosed => Err(FrontmatterError::unclosed()),
        None => Err(FrontmatterError::missing()),
    };
    let (head, [id, name, description]) =
        block.and_then(|block| fields(&block)).map_err(|error| AgentFileProblem::at(path, error))?;
    Ok(AgentFile {
        path: path.to_owned(),
        hash: source.hash,
        id,
        name,
        description,
        model_profile: head.model_profile,
        suggested_tools: head.suggested_tools.unwrap_or_default(),
        tags: head.tags.unwrap_or_default(),
        overrides: head.overrides,
        body: document.body.trim_end().trim_start_matches(['\r', '\n']).to_owned(),
    })
}

/// The fields, the required ones by themselves. Nothing is filled in, and nothing passed over: a key that nobody reads would be a
/// wish that nobody hears.
fn fields(block: &Block<'_>) -> Result<(Head, [String; 3]), FrontmatterError> {
    let keys = block.fields()?;
    for (key, _) in &keys {
        if !REQUIRED.contains(&key.as_str()) && !OPTIONAL.contains(&key.as_str()) {
            return Err(unknown(block, key));
        }
    }
    // Once more for its errors: they name the place of a value of the wrong kind.
    let head: Option<Head> = block.parse()?;
    let mut head = head.unwrap_or_default();
    let wanted = |value: Option<String>, key: &str| {
        let value = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let missing = || format!("`{key}` is missing or empty; a definition has an id, a name and a description");
        value.ok_or_else(|| block.error_at(key, missing()))
    };
    let [id, name, description] = REQUIRED;
    let required =
        [wanted(head.id.take(), id)?, wanted(head.name.take(), name)?, wanted(head.description.take(), description)?];
    Ok((head, required))
}

fn unknown(block: &Block<'_>, key: &str) -> FrontmatterError {
    let known = || REQUIRED.iter().chain(&OPTIONAL).copied();
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == key).map(|(_, ours)| *ours);
    let shown = shown::line(key, FIELD / 4);
    let message = match elsewhere.or_else(|| known().find(|known| is_near_key(key, known))) {
        Some(meant) => format!("`{shown}` is no key of a definition; is `{meant}` meant?"),
        None => format!("`{shown}` is no key of a definition; the keys are {}", known().collect::<Vec<_>>().join(", ")),
    };
    block.error_at(key, message)
}
