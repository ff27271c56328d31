//! `internal.load_skill` (SKL-2, SKL-3).

use std::path::{Path, PathBuf};

use agent_engine::{ContextMark, TokenCounter, keys};
use agent_library::skills::{SkillBody, SkillCatalog, SkillError};
use agent_protocol::{ContentBlock, ErrorCode, ErrorPayload, NodeType, Object, ToolRequirement, ToolRoles, shown_path};
use agent_tool::{CallContext, ContextNode, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::CoreTool;
use super::cut::beginning;

/// Names that are told where nothing is near the one that was asked for.
const MAX_NAMES: usize = 20;

/// What a message costs beyond its words, and the line ends of its frame.
const FRAME_TOKENS: u64 = 8;

/// Loads a skill of the skill catalog; its text follows the results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    name: String,
}

/// Reads skills out of a folder.
pub(super) struct LoadSkill {
    pub(super) folder: PathBuf,
    /// Most tokens of one, with its frame.
    pub(super) room: u64,
}

impl CoreTool for LoadSkill {
    type Input = Input;
    const NAME: &'static str = "internal.load_skill";
    const TAGS: &'static [&'static str] = &["internal", "skill", "readonly"];
    const ROLES: ToolRoles = ToolRoles::ALL;
    const REQUIRES: Option<ToolRequirement> = Some(ToolRequirement::Skills);

    fn about(&self, input: &Input) -> String {
        input.name.clone()
    }

    fn run(&self, input: Input, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
        let catalog = SkillCatalog::scan(&self.folder);
        let skill = catalog.load(&input.name).map_err(|error| not_loaded(&error, &catalog, &self.folder))?;
        let already_loaded = context.loaded.has(NodeType::SkillContext, &skill.name, &skill.hash);
        let path = shown_path(&skill.path);
        let Shown { text, left_out_from } = self.shown(&skill, &path)?;
        let result = json!({
            "name": skill.name,
            "path": path,
            "already_loaded": already_loaded,
            "truncated": left_out_from.is_some(),
        });
        let output = ToolOutput::value(result).with("hash", skill.hash.as_str());
        if already_loaded {
            return Ok(output.summary("loaded already"));
        }
        let output = output.summary(match left_out_from {
            Some(line) => format!("loaded up to line {}", line.saturating_sub(1)),
            None => "loaded".to_owned(),
        });
        let metadata = metadata(&skill, &path, left_out_from, context);
        let entry =
            ContextNode { node_type: NodeType::SkillContext, content: vec![ContentBlock::text(text)], metadata };
        Ok(ToolOutput { context: vec![entry], ..output })
    }
}

/// A skill as the model gets it.
struct Shown {
    text: String,
    /// The line of the file from which on something is missing.
    left_out_from: Option<usize>,
}

impl LoadSkill {
    /// The text of a skill as far as there is room for it; the rest can be read as any file can.
    fn shown(&self, skill: &SkillBody, path: &str) -> Result<Shown, ErrorPayload> {
        let body = skill.body.trim_start_matches(['\r', '\n']);
        if body.trim().is_empty() {
            let problem = format!("the skill in {path}: nothing stands behind its frontmatter");
            return Err(failed(&problem, path, None));
        }
        let room = self.room.saturating_sub(frame_tokens(&skill.name));
        if !skill.cut && TokenCounter.text(body) <= room {
            return Ok(Shown { text: body.trim_end().to_owned(), left_out_from: None });
        }
        // The number is not known yet; none is longer.
        let room = room.saturating_sub(TokenCounter.text(&left_out(usize::MAX, path)));
        let kept = beginning(body, room);
        let blank_lines = skill.body[..skill.body.len() - body.len()].matches('\n').count();
        let line = skill.first_line + blank_lines + kept.lines;
        let text = format!("{}\n{}", kept.text.trim_end(), left_out(line, path));
        Ok(Shown { text, left_out_from: Some(line) })
    }
}

/// What a skill of this name takes besides its text.
fn frame_tokens(name: &str) -> u64 {
    let escaped = name.matches(['&', '"', '<', '>']).count() as u64;
    FRAME_TOKENS + TokenCounter.text("<skill name=\"\"></skill>") + TokenCounter.text(name) + 2 * escaped
}

fn left_out(line: usize, path: &str) -> String {
    // Quoted as the argument would be.
    let path = json!(path);
    format!(
        "\n[This skill is longer than there is room for: from line {line} of its file on it was left out. Read on with \
         code.read_file, path {path}, start_line {line}.]"
    )
}

fn metadata(skill: &SkillBody, path: &str, left_out_from: Option<usize>, context: &CallContext) -> Object {
    let mark =
        ContextMark { items: vec![(skill.name.clone(), skill.hash.clone())], call: Some(context.tool_call_id.clone()) };
    let mut metadata = mark.metadata();
    metadata.insert(keys::FRAME.to_owned(), json!({ "name": skill.name }));
    metadata.insert("name".to_owned(), skill.name.as_str().into());
    metadata.insert("path".to_owned(), path.into());
    metadata.insert("hash".to_owned(), skill.hash.as_str().into());
    if let Some(line) = left_out_from {
        metadata.insert("left_out_from_line".to_owned(), line.into());
    }
    metadata
}

fn not_loaded(error: &SkillError, catalog: &SkillCatalog, folder: &Path) -> ErrorPayload {
    match error {
        SkillError::NotFound { name, near } => {
            let others = if near.is_empty() { names(catalog, folder) } else { String::new() };
            ErrorPayload::new(ErrorCode::SkillNotFound, format!("{error}{others}"))
                .detail("name", name.as_str())
                .detail("near", near.as_slice())
        }
        SkillError::Load(problem) => {
            let place = problem.line.zip(problem.column);
            failed(&error.to_string(), &shown_path(&problem.path), place)
        }
    }
}

/// What there is, for somebody who asked for nothing like it.
fn names(catalog: &SkillCatalog, folder: &Path) -> String {
    let all: Vec<_> = catalog.entries().iter().map(|entry| format!("`{}`", entry.name)).collect();
    match all.len() {
        0 => format!("; there are no skills in {}", shown_path(folder)),
        count if count > MAX_NAMES => format!("; among others there are {}", all[..MAX_NAMES].join(", ")),
        _ => format!("; there is only {}", all.join(", ")),
    }
}

/// `what` names the file, and the place in it that is to blame.
fn failed(what: &str, path: &str, place: Option<(usize, usize)>) -> ErrorPayload {
    let what = what.trim_end_matches('.');
    let message = format!("cannot load {what}. Go on without it, and tell the user, who can put the file right");
    let payload = ErrorPayload::new(ErrorCode::SkillLoadFailed, message).detail("path", path);
    match place {
        Some((line, column)) => payload.detail("line", line).detail("column", column),
        None => payload,
    }
}
