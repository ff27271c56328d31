//! One request to the model, from the adapter's stream to one input for the machine.

use std::sync::Arc;

use agent_engine::{Input, RequestNo};
use agent_llm::ProviderAdapter;
use agent_protocol::{
    ErrorCode, ErrorPayload, EventDraft, Level, ModelEvent, ModelFault, ModelReasoningDelta, ModelRequest, ModelRetry,
    ModelTextDelta, Object, Reply, ToolCallDelta,
};
use agent_redact::SecretStream;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::run_context::RunContext;

/// Asks, shows what comes, and gives the machine what it came to.
pub(crate) async fn ask(
    run: Arc<RunContext>,
    provider: Arc<dyn ProviderAdapter>,
    number: RequestNo,
    request: ModelRequest,
    cancel: CancellationToken,
) -> Input {
    run.live.begin_message();
    let mut shown = Shown::new(&run);
    let mut started = Object::new();
    let mut events = provider.stream(request, cancel);
    while let Some(event) = events.next().await {
        match event {
            // Told with the reply: a transaction of its own would cost more than it says.
            ModelEvent::Started { model, metadata } => {
                started = metadata;
                started.insert("model".to_owned(), model.into());
            }
            ModelEvent::TextDelta { text } => shown.text(&text),
            ModelEvent::ReasoningDelta { text } => {
                run.live.debug(|| ModelReasoningDelta { text });
            }
            ModelEvent::ToolCallDelta { index, name, fragment } => {
                run.live.debug(|| ToolCallDelta { fragment, index, name });
            }
            ModelEvent::Retry { attempt, wait_ms, error } => {
                let retry = EventDraft::of(ModelRetry { attempt, wait_ms, error });
                run.record(vec![retry.level(Level::Warning)]).await;
            }
            ModelEvent::Completed(mut reply) => {
                shown.finish();
                add(&mut reply, started);
                run.redactor.reply(&mut reply);
                return Input::ModelDone { request: number, reply };
            }
            ModelEvent::Failed { fault, mut error, mut partial } => {
                shown.finish();
                run.redactor.error(&mut error);
                if let Some(partial) = &mut partial {
                    add(partial, started);
                    run.redactor.reply(partial);
                }
                return Input::ModelFailed { request: number, fault, error, partial };
            }
        }
    }
    let error = no_end(&*provider);
    Input::ModelFailed { request: number, fault: ModelFault::Fatal, error, partial: None }
}

/// Asks beside any run, where nobody watches: the reply, or why there is none.
pub(crate) async fn reply(
    provider: &dyn ProviderAdapter,
    request: ModelRequest,
    cancel: CancellationToken,
) -> Result<Reply, (ModelFault, ErrorPayload)> {
    let mut events = provider.stream(request, cancel);
    while let Some(event) = events.next().await {
        match event {
            ModelEvent::Completed(reply) => return Ok(reply),
            ModelEvent::Failed { fault, error, .. } => return Err((fault, error)),
            ModelEvent::Started { .. }
            | ModelEvent::TextDelta { .. }
            | ModelEvent::ReasoningDelta { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::Retry { .. } => {}
        }
    }
    Err((ModelFault::Fatal, no_end(provider)))
}

/// The port promises a last event; an adapter of somebody else's may break that promise.
fn no_end(provider: &dyn ProviderAdapter) -> ErrorPayload {
    let message = format!("the provider {} ended its stream without saying how", provider.key());
    ErrorPayload::new(ErrorCode::ProviderError, message)
}

/// What the server said at the start, where the end does not say it again.
fn add(reply: &mut Reply, started: Object) {
    for (key, value) in started {
        reply.metadata.entry(key).or_insert(value);
    }
}

/// Text on its way to the live stream, without known secrets even where one is cut by a delta's end.
struct Shown<'a> {
    run: &'a RunContext,
    stream: Option<SecretStream>,
}

impl<'a> Shown<'a> {
    fn new(run: &'a RunContext) -> Self {
        let stream = run.redactor.is_active().then(|| run.redactor.secrets().stream());
        Self { run, stream }
    }

    fn text(&mut self, text: &str) {
        self.run.live.debug(|| ModelTextDelta { text: text.to_owned() });
        match &mut self.stream {
            None => self.run.live.text(text),
            Some(stream) => {
                let mut safe = Vec::new();
                stream.push(text.as_bytes(), &mut safe);
                self.show(&safe);
            }
        }
    }

    fn finish(&mut self) {
        if let Some(stream) = self.stream.take() {
            let mut rest = Vec::new();
            let _ = stream.finish(&mut rest);
            self.show(&rest);
        }
    }

    fn show(&self, bytes: &[u8]) {
        // Held back and given out at secret borders, which are character borders.
        let text = String::from_utf8_lossy(bytes);
        if !text.is_empty() {
            self.run.live.text(&text);
        }
    }
}
