//! Known secret values are replaced before anything reaches the machine, the store or the live stream (STO-10).

use agent_policy::{KnownSecrets, SecretPatterns};
use agent_protocol::{ContentBlock, ErrorPayload, Object, Reply, ToolCallId};
use serde_json::Value;

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
        if !self.active {
            return false;
        }
        let redacted = self.secrets.redact(text);
        let hit = redacted.hit;
        if hit {
            *text = redacted.text.into_owned();
        }
        hit
    }

    pub(crate) fn blocks(&self, blocks: &mut [ContentBlock]) -> bool {
        if !self.active {
            return false;
        }
        blocks.iter_mut().map(|block| self.block(block)).fold(false, |hit, found| hit | found)
    }

    fn block(&self, block: &mut ContentBlock) -> bool {
        match block {
            ContentBlock::Text(text) => self.text(&mut text.text),
            ContentBlock::Json(json) => {
                let in_data = json.data.as_mut().is_some_and(|data| self.secrets.redact_json(data));
                json.summary.as_mut().is_some_and(|summary| self.text(summary)) || in_data
            }
            ContentBlock::ToolCall(call) => {
                let in_name = self.text(&mut call.name) | self.id(&mut call.tool_call_id);
                let in_arguments = self.object(&mut call.arguments);
                self.object(&mut call.metadata) | in_arguments | in_name
            }
            ContentBlock::ToolResult(result) => {
                let in_content = self.blocks(&mut result.content);
                result.error.as_mut().is_some_and(|error| self.error(error)) || in_content
            }
            ContentBlock::ArtifactRef(artifact) => artifact.summary.as_mut().is_some_and(|summary| self.text(summary)),
        }
    }

    pub(crate) fn object(&self, object: &mut Object) -> bool {
        if !self.active {
            return false;
        }
        as_json(object, |value| self.secrets.redact_json(value))
    }

    pub(crate) fn error(&self, error: &mut ErrorPayload) -> bool {
        let in_message = self.text(&mut error.message);
        let hit = self.object(&mut error.details) || in_message;
        error.redacted |= hit;
        hit
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
    as_json(object, |value| patterns.redact_json(value))
}

/// Lends the fields of an object as the value that they are.
fn as_json(object: &mut Object, redact: impl FnOnce(&mut Value) -> bool) -> bool {
    let mut value = Value::Object(std::mem::take(object));
    let hit = redact(&mut value);
    if let Value::Object(fields) = value {
        *object = fields;
    }
    hit
}

/// The same for an error.
pub(crate) fn shapes_of_error(patterns: &SecretPatterns, error: &mut ErrorPayload) {
    let message = patterns.redact(&error.message);
    if message.hit {
        error.message = message.text.into_owned();
        error.redacted = true;
    }
    error.redacted |= shapes(patterns, &mut error.details);
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
