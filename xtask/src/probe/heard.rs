//! What an adapter said of one request, read to the end, with the port's own promises checked on the way.

use std::time::{Duration, Instant};

use agent_llm::ModelStream;
use agent_protocol::{ErrorCode, ErrorPayload, ModelEvent, ModelFault, Reply, StopKind, ToolCall};
use futures::StreamExt;
use serde_json::Value;

use super::verdict::{Miss, failed, model_did_not, quote};

/// One request's events, summed up.
#[derive(Debug)]
pub(crate) struct Heard {
    /// All text deltas, joined.
    pub(crate) text: String,
    /// How many there were.
    pub(crate) text_deltas: usize,
    /// All reasoning deltas, joined.
    pub(crate) reasoning: String,
    /// Why the adapter asked again, each time it did.
    pub(crate) retries: Vec<String>,
    /// From asking to the first content.
    pub(crate) first: Option<Duration>,
    /// What ended it.
    pub(crate) end: End,
}

/// How a stream ends.
#[derive(Debug)]
pub(crate) enum End {
    /// With a reply.
    Reply(Reply),
    /// Without one.
    Failure(Failure),
}

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: ModelFault,
    pub(crate) error: ErrorPayload,
    pub(crate) partial: Option<Reply>,
}

impl Failure {
    /// The finer word for what happened.
    pub(crate) fn kind(&self) -> &str {
        kind_of(&self.error)
    }

    /// In a line.
    pub(crate) fn shown(&self) -> String {
        format!("{} ({}, {}): {}", self.error.code, self.kind(), self.fault.as_str(), quote(&self.error.message))
    }

    /// For a check that expected a reply.
    pub(crate) fn miss(&self) -> Miss {
        match self.error.code {
            ErrorCode::UnsupportedCapability => Miss::NotSupported(quote(&self.error.message)),
            _ => Miss::Failed(self.shown()),
        }
    }
}

fn kind_of(error: &ErrorPayload) -> &str {
    error.details.get("kind").and_then(Value::as_str).unwrap_or("no kind")
}

impl Heard {
    /// The reply, if there is one.
    pub(crate) fn reply(&self) -> Result<&Reply, Miss> {
        match &self.end {
            End::Reply(reply) => Ok(reply),
            End::Failure(failure) => Err(failure.miss()),
        }
    }

    /// The reply, unless the output limit or a filter cut it: then nothing can be said of the rest.
    pub(crate) fn finished(&self) -> Result<&Reply, Miss> {
        let reply = self.reply()?;
        match reply.stop.kind {
            StopKind::MaxTokens => {
                let call = reply.tool_calls().last().map(|call| format!("in a call of {}, after ", quote(&call.name)));
                let (call, text) = (call.unwrap_or_default(), quote(&self.text));
                model_did_not(format!("needed more than the output limit (--max-output-tokens): {call}{text}"))
            }
            StopKind::ContentFilter | StopKind::Error => failed(format!("stopped with {}", stop(reply))),
            StopKind::EndTurn | StopKind::ToolUse | StopKind::StopSequence => Ok(reply),
        }
    }

    /// The text of a finished reply, which there must be.
    pub(crate) fn said(&self) -> Result<&str, Miss> {
        let reply = self.finished()?;
        if !self.text.trim().is_empty() {
            return Ok(&self.text);
        }
        if !self.reasoning.is_empty() {
            return failed(format!("no text: all of the answer came as reasoning: {}", quote(&self.reasoning)));
        }
        match (reply.tool_calls().next(), reply.usage.output_tokens) {
            (Some(call), _) => model_did_not(format!("called {} instead of answering", quote(&call.name))),
            (None, Some(tokens)) if tokens > 2 => failed(format!("no text, although {tokens} tokens were counted")),
            (None, _) => model_did_not("said nothing"),
        }
    }

    /// The calls of a finished reply, which there must be.
    pub(crate) fn calls(&self) -> Result<Vec<&ToolCall>, Miss> {
        let calls: Vec<_> = self.finished()?.tool_calls().collect();
        match calls.is_empty() {
            false => Ok(calls),
            true if self.text.contains('{') => model_did_not(format!(
                "wrote a call as text, which the server's template does not read: {}",
                quote(&self.text)
            )),
            true => model_did_not(format!("made no call: {}", quote(&self.text))),
        }
    }

    /// Tells of requests before the one that was answered.
    pub(crate) fn after_retries(&self) -> String {
        match &self.retries[..] {
            [] => String::new(),
            [why] => format!("; after 1 retry, {why}"),
            [.., why] => format!("; after {} retries, {why}", self.retries.len()),
        }
    }
}

/// Why a reply ended, in our word and the server's.
pub(crate) fn stop(reply: &Reply) -> String {
    match &reply.stop.raw {
        Some(raw) => format!("{} ({})", reply.stop.kind.as_str(), quote(raw)),
        None => format!("{} (the server gave no reason)", reply.stop.kind.as_str()),
    }
}

/// Reads a stream to its end, with a look at each event as it comes.
///
/// # Errors
/// [`Miss::Failed`] where the stream breaks a promise of the port: one end, last; a reply that is what its deltas were; calls
/// that can be told apart.
pub(crate) async fn listen(mut stream: ModelStream, mut look: impl FnMut(&ModelEvent)) -> Result<Heard, Miss> {
    let begun = Instant::now();
    let (mut text, mut text_deltas, mut reasoning, mut retries) = (String::new(), 0, String::new(), Vec::new());
    let (mut first, mut end) = (None, None);
    while let Some(event) = stream.next().await {
        look(&event);
        if end.is_some() {
            return failed("the adapter went on after the end of its reply");
        }
        match event {
            ModelEvent::Started { .. } => drop(first.get_or_insert(begun.elapsed())),
            ModelEvent::TextDelta { text: delta } => {
                text_deltas += 1;
                text.push_str(&delta);
            }
            ModelEvent::ReasoningDelta { text: delta } => reasoning.push_str(&delta),
            ModelEvent::ToolCallDelta { .. } => {}
            ModelEvent::Retry { error, .. } => retries.push(format!("{} {}", kind_of(&error), quote(&error.message))),
            ModelEvent::Completed(reply) => end = Some(End::Reply(reply)),
            ModelEvent::Failed { fault, error, partial } => end = Some(End::Failure(Failure { fault, error, partial })),
        }
    }
    let Some(end) = end else { return failed("the adapter's stream ended without a reply or a failure") };
    let heard = Heard { text, text_deltas, reasoning, retries, first, end };
    keeps_promises(&heard)?;
    Ok(heard)
}

fn keeps_promises(heard: &Heard) -> Result<(), Miss> {
    let reply = match &heard.end {
        End::Reply(reply) => reply,
        End::Failure(Failure { partial: Some(partial), .. }) => partial,
        End::Failure(_) => return Ok(()),
    };
    if reply.text() != heard.text {
        let (joined, whole) = (quote(&heard.text), quote(&reply.text()));
        return failed(format!("the deltas join to {joined}, and the reply is {whole}"));
    }
    let mut ids: Vec<_> = reply.tool_calls().map(|call| &call.tool_call_id).collect();
    ids.sort();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => failed(format!("two calls share the id {}", pair[0])),
    }
}
