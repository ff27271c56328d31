//! What the fields of an agent definition have to be (AGD-3, AGD-7).

use agent_protocol::{AgentDefinition, ModelProfile};
use agent_redact::shown_word;

use super::error::DefinitionError;
use super::named::Named;

/// Longest id, in bytes: it becomes part of other ids.
const MAX_ID: usize = 128;
/// Longest name, in characters.
const MAX_NAME: usize = 128;
/// Longest description, in characters: a catalog lists it.
const MAX_DESCRIPTION: usize = 1024;
/// Longest body, in bytes: it is part of each request of its agents.
const MAX_BODY: usize = 256 * 1024;
/// Longest tag, in characters.
const MAX_TAG: usize = 64;
/// Most tags, and most suggested tools.
const MAX_ITEMS: usize = 128;
/// Longest name of a tool or of a model profile, in bytes.
const MAX_REFERENCE: usize = 256;
/// Most bytes of `metadata`, or of a model profile in place, as JSON.
const MAX_JSON: usize = 64 * 1024;
/// Names with this prefix are checked when their server answers (TOL-8).
const MCP: &str = "mcp.";

pub(super) fn check(definition: &AgentDefinition, named: &Named<'_>) -> Result<(), DefinitionError> {
    let fault = |field: &'static str, problem: String| DefinitionError::Invalid {
        id: shown_word(&definition.agent_definition_id),
        field,
        problem,
    };
    let wrong = |field, problem: &str| fault(field, problem.to_owned());
    let id = &definition.agent_definition_id;
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !(1..=MAX_ID).contains(&id.len()) || !id.bytes().all(safe) {
        return Err(wrong("id", "must be letters, digits, `-` and `_`, at most 128 of them"));
    }
    for (field, text, most) in
        [("name", &definition.name, MAX_NAME), ("description", &definition.description, MAX_DESCRIPTION)]
    {
        if !is_line(text, most) {
            return Err(fault(field, format!("must be one line of 1 to {most} characters")));
        }
    }
    if definition.body.len() > MAX_BODY {
        return Err(fault("body", format!("has {} bytes; at most {MAX_BODY} are taken", definition.body.len())));
    }
    for (field, items) in [("tags", &definition.tags), ("suggested_tools", &definition.suggested_tools)] {
        if items.len() > MAX_ITEMS {
            return Err(fault(field, format!("has {} entries; at most {MAX_ITEMS} are taken", items.len())));
        }
    }
    if !definition.tags.iter().all(|tag| is_line(tag, MAX_TAG)) {
        return Err(wrong("tags", "must have 1 to 64 characters each, and no control characters"));
    }
    let known = |name: &str| name.len() <= MAX_REFERENCE && (name.starts_with(MCP) || (named.is_tool)(name));
    if let Some(unknown) = definition.suggested_tools.iter().find(|name| !known(name)) {
        return Err(fault("suggested_tools", format!("names `{}`, which is no tool", shown_word(unknown))));
    }
    let profile_fits = match &definition.model_profile {
        None => true,
        Some(ModelProfile::Named(name)) => is_line(name, MAX_REFERENCE),
        Some(ModelProfile::Inline(profile)) => is_small(profile),
    };
    if !profile_fits {
        return Err(wrong("model_profile", "must be the name of a profile, or a profile of at most 64 KiB"));
    }
    if let Some(profile) = &definition.model_profile {
        (named.model_profile)(profile).map_err(|problem| fault("model_profile", problem))?;
    }
    if !is_small(&definition.metadata) {
        return Err(wrong("metadata", "is longer than 64 KiB"));
    }
    Ok(())
}

/// One line with something on it.
fn is_line(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control)
}

fn is_small(object: &agent_protocol::Object) -> bool {
    serde_json::to_vec(object).is_ok_and(|bytes| bytes.len() <= MAX_JSON)
}
