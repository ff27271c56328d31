//! The server that is asked, and how.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_llm::{ProviderAdapter, ProviderError, ProviderRegistry, ProviderSettings};
use agent_protocol::{ModelMessage, ModelRequest, Object, Role, SystemPrompt, ToolChoice};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::heard::{Heard, listen};
use super::say;
use super::verdict::Miss;

/// A model on a server, behind its adapter.
#[derive(Clone)]
pub(crate) struct Target {
    registry: ProviderRegistry,
    adapter: Arc<dyn ProviderAdapter>,
    pub(crate) provider: String,
    pub(crate) settings: ProviderSettings,
    pub(crate) model: String,
    /// Most tokens of an answer, unless a check wants fewer. Reasoning counts.
    pub(crate) max_output_tokens: u64,
    progress: Progress,
}

/// When anything of an answer last came, for whoever ends a check that takes too long.
#[derive(Debug, Clone, Default)]
struct Progress(Arc<Mutex<Option<Instant>>>);

impl Progress {
    fn set(&self, at: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

impl Target {
    /// Builds the adapter. Opens no connection.
    ///
    /// # Errors
    /// What the registry or the adapter finds wrong with the settings.
    pub(crate) fn new(
        registry: ProviderRegistry,
        provider: &str,
        settings: ProviderSettings,
        model: &str,
        max_output_tokens: u64,
    ) -> Result<Self, ProviderError> {
        let adapter = registry.build(provider, settings.clone())?;
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Ok(Self { registry, adapter, provider, settings, model, max_output_tokens, progress: Progress::default() })
    }

    /// The same with other settings, through an adapter of its own.
    ///
    /// # Errors
    /// As [`Target::new`].
    pub(crate) fn with(&self, change: impl FnOnce(&mut ProviderSettings)) -> Result<Self, ProviderError> {
        let mut settings = self.settings.clone();
        change(&mut settings);
        let other = Self::new(self.registry.clone(), &self.provider, settings, &self.model, self.max_output_tokens)?;
        Ok(Self { progress: self.progress.clone(), ..other })
    }

    /// How long nothing of an answer has come; none if nothing came of the last one at all.
    pub(crate) fn silent_for(&self) -> Option<Duration> {
        self.progress.0.lock().unwrap_or_else(PoisonError::into_inner).map(|last| last.elapsed())
    }

    pub(crate) fn adapter(&self) -> &dyn ProviderAdapter {
        &*self.adapter
    }

    /// A request as a run makes it: a short system prompt, this conversation, no tools yet.
    pub(crate) fn request(&self, messages: Vec<ModelMessage>) -> ModelRequest {
        ModelRequest {
            model: self.model.clone(),
            system: Arc::new(SystemPrompt::from(vec![say::system("You are a helpful assistant. Be brief.")])),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::default(),
            tool_choice: ToolChoice::Auto,
            // The same question should get the same answer, as far as the server can.
            temperature: Some(0.0),
            max_output_tokens: self.max_output_tokens,
            provider_options: Object::new(),
            metadata: Object::new(),
        }
    }

    /// Asks, and reads the answer to its end.
    ///
    /// # Errors
    /// As [`listen`]; a failed request is none.
    pub(crate) async fn ask(&self, request: ModelRequest) -> Result<Heard, Miss> {
        self.progress.set(None);
        let stream = self.adapter.stream(request, CancellationToken::new());
        listen(stream, |_| self.progress.set(Some(Instant::now()))).await
    }

    /// Asks a single question.
    ///
    /// # Errors
    /// As [`Target::ask`].
    pub(crate) async fn ask_user(&self, question: &str) -> Result<Heard, Miss> {
        self.ask(self.request(vec![say::text(Role::User, question)])).await
    }
}
