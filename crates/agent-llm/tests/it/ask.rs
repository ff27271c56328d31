//! Asking an adapter, in a line.

use std::sync::Arc;
use std::time::Duration;

use agent_llm::{ProviderAdapter, ProviderRegistry, ProviderSettings, RetrySettings};
use agent_protocol::{
    ContentBlock, ErrorPayload, ModelEvent, ModelFault, ModelMessage, ModelRequest, Object, Permission, Reply, Role,
    ToolChoice, ToolDefinition,
};
use futures::StreamExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Settings for a test: short waits.
pub(crate) fn settings(base_url: &str) -> ProviderSettings {
    let mut settings = ProviderSettings::new(base_url);
    settings.retry = RetrySettings {
        max_attempts: 3,
        initial_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
    };
    settings
}

pub(crate) fn build(provider: &str, settings: ProviderSettings) -> Arc<dyn ProviderAdapter> {
    ProviderRegistry::with_builtin().build(provider, settings).unwrap()
}

pub(crate) fn adapter(provider: &str, base_url: &str) -> Arc<dyn ProviderAdapter> {
    build(provider, settings(base_url))
}

pub(crate) fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: "a tool".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}

/// A request for `gemma4` with a user message and one tool.
pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        model: "gemma4".to_owned(),
        system: Arc::default(),
        messages: vec![Arc::new(ModelMessage::new(Role::User, vec![ContentBlock::text("hi")]))],
        tools: Arc::new(vec![tool("code.read_file")].into()),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_output_tokens: 100,
        provider_options: Object::new(),
        metadata: Object::new(),
    }
}

pub(crate) async fn events(adapter: &dyn ProviderAdapter, request: ModelRequest) -> Vec<ModelEvent> {
    adapter.stream(request, CancellationToken::new()).collect().await
}

/// The reply, with the number of retries before it.
#[track_caller]
pub(crate) fn completed(events: &[ModelEvent]) -> (&Reply, usize) {
    let retries = events.iter().filter(|event| matches!(event, ModelEvent::Retry { .. })).count();
    match events.last() {
        Some(ModelEvent::Completed(reply)) => (reply, retries),
        other => panic!("not completed: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn failed(events: &[ModelEvent]) -> (ModelFault, &ErrorPayload, Option<&Reply>) {
    match events.last() {
        Some(ModelEvent::Failed { fault, error, partial }) => (*fault, error, partial.as_ref()),
        other => panic!("not failed: {other:?}"),
    }
}
