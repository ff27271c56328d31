//! Known secret values are replaced before anything reaches the machine, the store or the live stream; what looks like a secret
//! is stored and not shown (STO-10).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use agent_protocol::{ContentBlock, ErrorPayload, Object, Reply, ToolCallId};
use agent_redact::KnownSecrets;
use agent_redact::within::{in_blocks, in_error, in_object, in_text};

/// The secret values that are known, which may become more: an agent definition that is registered later may name a key of its own
/// (CFG-3). A clone knows the same at any time.
#[derive(Debug, Clone)]
pub struct SharedSecrets(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Most runs know no secret at all; then nothing is looked at.
    active: AtomicBool,
    known: RwLock<KnownSecrets>,
}

impl From<KnownSecrets> for SharedSecrets {
    fn from(known: KnownSecrets) -> Self {
        Self(Arc::new(Shared { active: AtomicBool::new(!known.is_empty()), known: RwLock::new(known) }))
    }
}

impl SharedSecrets {
    /// Those that are known now.
    #[must_use]
    pub fn known(&self) -> KnownSecrets {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on these are known.
    pub fn replace(&self, known: KnownSecrets) {
        let mut current = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        self.0.active.store(!known.is_empty(), Ordering::Release);
        *current = known;
    }
}

/// Replaces known secrets in everything a run takes in.
#[derive(Debug, Clone)]
pub(crate) struct Redactor {
    secrets: SharedSecrets,
}

impl Redactor {
    pub(crate) fn new(secrets: impl Into<SharedSecrets>) -> Self {
        Self { secrets: secrets.into() }
    }

    pub(crate) fn secrets(&self) -> KnownSecrets {
        self.secrets.known()
    }

    /// Whether there is anything to look for.
    pub(crate) fn is_active(&self) -> bool {
        self.secrets.0.active.load(Ordering::Acquire)
    }

    pub(crate) fn text(&self, text: &mut String) -> bool {
        self.is_active() && in_text(&self.secrets(), text)
    }

    pub(crate) fn blocks(&self, blocks: &mut [ContentBlock]) -> bool {
        if !self.is_active() {
            return false;
        }
        let in_words = blocks.iter_mut().map(|block| self.words(block)).fold(false, |hit, found| hit | found);
        in_blocks(&self.secrets(), blocks) || in_words
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
        self.is_active() && in_object(&self.secrets(), object)
    }

    pub(crate) fn error(&self, error: &mut ErrorPayload) -> bool {
        self.is_active() && in_error(&self.secrets(), error)
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
        let hit = self.secrets().redact(id.as_str()).hit;
        if hit && let Ok(other) = ToolCallId::parse("call_redacted") {
            *id = other;
        }
        hit
    }
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
