//! One request to the model, from the adapter's stream to one input for the machine.

use std::sync::Arc;

use agent_engine::{Input, RequestNo};
use agent_protocol::{
    ErrorCode, ErrorPayload, EventDraft, Level, ModelEvent, ModelFault, ModelRequest, ModelRetry, Object, Reply,
};
use tokio_util::sync::CancellationToken;

use crate::deltas::Deltas;
use crate::model_server::ModelServer;
use crate::run_context::RunContext;

/// Asks, shows what comes, and gives the machine what it came to.
pub(crate) async fn ask(
    run: Arc<RunContext>,
    server: ModelServer,
    number: RequestNo,
    request: ModelRequest,
    cancel: CancellationToken,
) -> Input {
    run.live.begin_message();
    let mut shown = Deltas::new(&run.live, &run.redactor);
    let mut started = Object::new();
    let mut events = server.ask(request, cancel, Some(&run.clock));
    while let Some(event) = events.next().await {
        match event {
            // Told with the reply: a transaction of its own would cost more than it says.
            ModelEvent::Started { model, metadata } => {
                started = metadata;
                started.insert("model".to_owned(), model.into());
            }
            ModelEvent::TextDelta { text } => shown.text(&text),
            ModelEvent::ReasoningDelta { text } => shown.reasoning(text),
            ModelEvent::ToolCallDelta { index, name, fragment } => shown.call(index, name, fragment),
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
    shown.finish();
    let error = no_end(&server);
    Input::ModelFailed { request: number, fault: ModelFault::Fatal, error, partial: None }
}

/// Asks beside any run, where nobody watches: the reply, or why there is none.
pub(crate) async fn reply(
    server: &ModelServer,
    request: ModelRequest,
    cancel: CancellationToken,
) -> Result<Reply, (ModelFault, ErrorPayload)> {
    let mut events = server.ask(request, cancel, None);
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
    Err((ModelFault::Fatal, no_end(server)))
}

/// The port promises a last event; an adapter of somebody else's may break that promise.
fn no_end(server: &ModelServer) -> ErrorPayload {
    let message = format!("the provider {} ended its stream without saying how", server.adapter().key());
    ErrorPayload::new(ErrorCode::ProviderError, message)
}

/// What the server said at the start, where the end does not say it again.
fn add(reply: &mut Reply, started: Object) {
    for (key, value) in started {
        reply.metadata.entry(key).or_insert(value);
    }
}
