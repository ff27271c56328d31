//! One question to a model, beside any run.

use std::sync::Arc;

use agent_engine::TokenCounter;
use agent_protocol::{
    ContentBlock, ErrorPayload, ModelFault, ModelMessage, ModelRequest, Object, PromptBlock, Reply, Role, SystemPrompt,
    ToolChoice, ToolList,
};
use tokio_util::sync::CancellationToken;

use super::memories::MemoryModel;
use crate::model_call::reply;

/// Tokens are estimates, and a prompt that is too long is refused: so much of the room is used.
const SHARE: (u64, u64) = (3, 4);

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) fault: ModelFault,
    pub(super) error: ErrorPayload,
}

impl MemoryModel {
    /// Room for what is told, in estimated tokens, beside the system text and the answer.
    pub(super) fn room(&self, system: &PromptBlock) -> u64 {
        let room = self.context_window.saturating_sub(self.output() + system.token_count);
        room / SHARE.1 * SHARE.0
    }

    fn output(&self) -> u64 {
        self.max_output_tokens.min(self.context_window / 4)
    }

    /// Asks, without tools.
    pub(super) async fn ask(
        &self,
        system: PromptBlock,
        told: String,
        metadata: Object,
        cancel: CancellationToken,
    ) -> Result<Reply, Unanswered> {
        let message = ModelMessage::new(Role::User, vec![ContentBlock::text(told)]);
        let request = ModelRequest {
            model: self.settings.name.clone(),
            system: Arc::new(SystemPrompt::from(vec![system])),
            messages: vec![Arc::new(message)],
            tools: Arc::new(ToolList::default()),
            tool_choice: ToolChoice::Auto,
            temperature: self.settings.temperature,
            max_output_tokens: self.output(),
            provider_options: self.settings.provider_options.clone(),
            metadata,
        };
        let answer = reply(&self.server, request, cancel).await;
        answer.map_err(|(fault, error)| Unanswered { fault, error })
    }
}

/// A packaged text with its placeholders filled in, as the system part.
pub(super) fn system_text(asset: agent_library::AssetId, values: &[(&str, &str)]) -> PromptBlock {
    let asset = asset.load();
    let content = asset.fill(values);
    PromptBlock {
        block_id: asset.id.as_str().to_owned(),
        source: asset.source(),
        token_count: TokenCounter.text(&content),
        content,
        priority: 0,
        dynamic: false,
        metadata: Object::new(),
    }
}
