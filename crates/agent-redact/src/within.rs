//! Secrets in what the contract's types hold: found by their values or by their looks, taken out of every string.

use std::sync::Arc;

use agent_protocol::{ContentBlock, ErrorPayload, Object};
use serde_json::Value;

use crate::patterns::SecretPatterns;
use crate::redacted::Redacted;
use crate::secrets::KnownSecrets;

/// What finds secrets: by their values, or by their looks.
pub trait Finder {
    /// The text without them.
    fn in_text<'t>(&self, text: &'t str) -> Redacted<'t>;

    /// Takes them out of all strings; whether there was one.
    fn in_json(&self, value: &mut Value) -> bool;
}

impl Finder for KnownSecrets {
    fn in_text<'t>(&self, text: &'t str) -> Redacted<'t> {
        self.redact(text)
    }

    fn in_json(&self, value: &mut Value) -> bool {
        self.redact_json(value)
    }
}

impl Finder for SecretPatterns {
    fn in_text<'t>(&self, text: &'t str) -> Redacted<'t> {
        self.redact(text)
    }

    fn in_json(&self, value: &mut Value) -> bool {
        self.redact_json(value)
    }
}

/// Takes secrets out of a text; whether there was one. So do the others here.
pub fn in_text(finder: &impl Finder, text: &mut String) -> bool {
    let redacted = finder.in_text(text);
    let hit = redacted.hit;
    if hit {
        *text = redacted.text.into_owned();
    }
    hit
}

/// Of all strings of a JSON object.
pub fn in_object(finder: &impl Finder, object: &mut Object) -> bool {
    if object.is_empty() {
        return false;
    }
    // Lends the fields of the object as the value that they are.
    let mut value = Value::Object(std::mem::take(object));
    let hit = finder.in_json(&mut value);
    if let Value::Object(fields) = value {
        *object = fields;
    }
    hit
}

/// Names and ids stay: what refers to them must find them.
pub fn in_blocks(finder: &impl Finder, blocks: &mut [ContentBlock]) -> bool {
    blocks.iter_mut().map(|block| in_block(finder, block)).fold(false, |hit, found| hit | found)
}

fn in_block(finder: &impl Finder, block: &mut ContentBlock) -> bool {
    match block {
        ContentBlock::Text(text) => in_text(finder, &mut text.text),
        ContentBlock::Json(json) => {
            let in_data = json.data.as_mut().is_some_and(|data| finder.in_json(data));
            in_optional_text(finder, json.summary.as_mut()) || in_data
        }
        ContentBlock::ToolCall(call) => {
            let in_arguments = in_object(finder, &mut call.arguments);
            in_object(finder, &mut call.metadata) || in_arguments
        }
        ContentBlock::ToolResult(result) => {
            let in_content = in_blocks(finder, &mut result.content);
            let in_error = result.error.as_mut().is_some_and(|error| in_error(finder, error));
            in_object(finder, &mut result.metadata) || in_error || in_content
        }
        ContentBlock::ArtifactRef(artifact) => in_optional_text(finder, artifact.summary.as_mut()),
    }
}

/// The same for blocks that others may share.
pub fn in_shared_blocks(finder: &impl Finder, blocks: &mut Arc<[ContentBlock]>) -> bool {
    in_blocks(finder, Arc::make_mut(blocks))
}

/// Of a text that may be absent.
pub fn in_optional_text(finder: &impl Finder, text: Option<&mut String>) -> bool {
    text.is_some_and(|text| in_text(finder, text))
}

/// Of an error's message and details; marks it as redacted.
pub fn in_error(finder: &impl Finder, error: &mut ErrorPayload) -> bool {
    let in_message = in_text(finder, &mut error.message);
    let hit = in_object(finder, &mut error.details) || in_message;
    error.redacted |= hit;
    hit
}
