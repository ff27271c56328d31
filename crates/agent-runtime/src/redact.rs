//! Known secret values are replaced before anything reaches the machine, the store or the live stream; what looks like a secret
//! is stored and not shown (STO-10).

use std::sync::Arc;

use agent_protocol::{ContentBlock, ErrorPayload, Object, Reply, ToolCallId};
use agent_redact::{KnownSecrets, Redacted, SecretPatterns};
use serde_json::Value;

/// What finds secrets: by their values, or by their looks.
pub(crate) trait Finder {
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
pub(crate) fn in_text(finder: &impl Finder, text: &mut String) -> bool {
    let redacted = finder.in_text(text);
    let hit = redacted.hit;
    if hit {
        *text = redacted.text.into_owned();
    }
    hit
}

pub(crate) fn in_object(finder: &impl Finder, object: &mut Object) -> bool {
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
pub(crate) fn in_blocks(finder: &impl Finder, blocks: &mut [ContentBlock]) -> bool {
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
pub(crate) fn in_shared_blocks(finder: &impl Finder, blocks: &mut Arc<[ContentBlock]>) -> bool {
    in_blocks(finder, Arc::make_mut(blocks))
}

pub(crate) fn in_optional_text(finder: &impl Finder, text: Option<&mut String>) -> bool {
    text.is_some_and(|text| in_text(finder, text))
}

pub(crate) fn in_error(finder: &impl Finder, error: &mut ErrorPayload) -> bool {
    let in_message = in_text(finder, &mut error.message);
    let hit = in_object(finder, &mut error.details) || in_message;
    error.redacted |= hit;
    hit
}

/// Replaces known secrets in everything a run takes in.
#[derive(Debug, Clone)]
pub(crate) struct Redactor {
    secrets: KnownSecrets,
    /// Most runs know no secret at all; then nothing is looked at.
    active: bool,
}

impl Redactor {
    pub(crate) fn new(secrets: KnownSecrets) -> Self {
        let active = !secrets.is_empty();
        Self { secrets, active }
    }

    pub(crate) fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Whether there is anything to look for.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    pub(crate) fn text(&self, text: &mut String) -> bool {
        self.active && in_text(&self.secrets, text)
    }

    pub(crate) fn blocks(&self, blocks: &mut [ContentBlock]) -> bool {
        if !self.active {
            return false;
        }
        let in_words = blocks.iter_mut().map(|block| self.words(block)).fold(false, |hit, found| hit | found);
        in_blocks(&self.secrets, blocks) || in_words
    }

    /// Name and id of a call, where the model has put a known value there.
    fn words(&self, block: &mut ContentBlock) -> bool {
        match block {
            ContentBlock::ToolCall(call) => self.text(&mut call.name) | self.id(&mut call.tool_call_id),
            ContentBlock::ToolResult(result) => self.blocks(&mut result.content),
            ContentBlock::Text(_) | ContentBlock::Json(_) | ContentBlock::ArtifactRef(_) => false,
        }
    }

    pub(crate) fn object(&self, object: &mut Object) -> bool {
        self.active && in_object(&self.secrets, object)
    }

    pub(crate) fn error(&self, error: &mut ErrorPayload) -> bool {
        self.active && in_error(&self.secrets, error)
    }

    pub(crate) fn reply(&self, reply: &mut Reply) {
        self.blocks(&mut reply.content);
        self.object(&mut reply.metadata);
        self.object(&mut reply.usage.raw);
        if let Some(raw) = &mut reply.stop.raw {
            self.text(raw);
        }
    }

    /// An id cannot hold a marker; one that held a secret is replaced whole, and made unique later.
    fn id(&self, id: &mut ToolCallId) -> bool {
        let hit = self.secrets.redact(id.as_str()).hit;
        if hit && let Ok(other) = ToolCallId::parse("call_redacted") {
            *id = other;
        }
        hit
    }
}

/// Takes what looks like a secret out of what is shown; what is stored stays as it is (STO-10).
pub(crate) fn shapes(patterns: &SecretPatterns, object: &mut Object) -> bool {
    in_object(patterns, object)
}

/// The same for an error.
pub(crate) fn shapes_of_error(patterns: &SecretPatterns, error: &mut ErrorPayload) {
    in_error(patterns, error);
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_protocol::{StopKind, StopReason, ToolCall, Usage};
    use serde_json::json;

    /// STO-10: known values are replaced wherever they stand in what a run takes in.
    #[test]
    fn known_values_are_replaced_everywhere() {
        let redactor = Redactor::new(KnownSecrets::new([("KEY", "hunter2-hunter2")]).unwrap());
        let mut blocks = vec![
            ContentBlock::text("say hunter2-hunter2"),
            ContentBlock::json(json!({"a": ["hunter2-hunter2"], "b": 1})),
        ];
        assert!(redactor.blocks(&mut blocks));
        let shown = format!("{blocks:?}");
        assert!(!shown.contains("hunter2-hunter2") && shown.matches("[secret KEY]").count() == 2, "{shown}");
        let id = ToolCallId::parse("hunter2-hunter2").unwrap();
        let call = ToolCall {
            tool_call_id: id,
            name: "hunter2-hunter2".into(),
            arguments: Object::new(),
            metadata: Object::new(),
        };
        let mut reply = Reply {
            content: vec![ContentBlock::ToolCall(call)],
            usage: Usage { raw: Object::from_iter([("x".into(), "hunter2-hunter2".into())]), ..Usage::default() },
            stop: StopReason { kind: StopKind::EndTurn, raw: Some("hunter2-hunter2".into()) },
            metadata: Object::from_iter([("request_id".into(), "hunter2-hunter2".into())]),
        };
        redactor.reply(&mut reply);
        assert!(!format!("{reply:?}").contains("hunter2"), "{reply:?}");
        let mut error = ErrorPayload::new(agent_protocol::ErrorCode::ProviderError, "bad key hunter2-hunter2");
        assert!(redactor.error(&mut error) && error.redacted);
        assert!(!Redactor::new(KnownSecrets::new([("", ""); 0]).unwrap()).blocks(&mut blocks));
    }
}
