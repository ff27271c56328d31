//! Reads the answer of `/chat/completions`: events, or one object where a server does not stream.

use std::borrow::Cow;

use agent_protocol::{ModelEvent, Reply};
use serde_json::Value;

use super::chunk::{Call, Choice, Chunk, Delta, FlatError};
use super::usage;
use crate::dialect::{Decoder, Flow, StreamFault, StreamState, Unfinished, malformed};
use crate::fault::ServerWords;
use crate::framing::{Sse, SseEvent};
use crate::reply::{CallPiece, ReplyBuilder, Text, TextOrParts, argument_text};
use crate::{BrokenStream, LimitSettings};

/// The decoder of one answer.
pub(super) struct OpenAiDecoder {
    body: Body,
    /// Longest event, in bytes; also longest whole answer.
    limit: usize,
    state: State,
}

/// The form of the body, told by its first byte: headers cannot be trusted with that.
enum Body {
    Unknown,
    Events(Sse),
    /// One object, or one error.
    Whole(Vec<u8>),
}

struct State {
    reply: ReplyBuilder,
    context_window: u64,
    /// The last word on why the reply ended.
    reason: Option<String>,
    /// Content came after such a word: this server puts one on every chunk.
    reason_is_noise: bool,
    /// The model declined, in a field of its own.
    refused: bool,
    done: bool,
    events: u64,
}

impl OpenAiDecoder {
    pub(super) fn new(reply: ReplyBuilder, context_window: u64, limits: LimitSettings) -> Self {
        let state = State {
            reply,
            context_window,
            reason: None,
            reason_is_noise: false,
            refused: false,
            done: false,
            events: 0,
        };
        Self { body: Body::Unknown, limit: limits.event_bytes, state }
    }
}

impl Decoder for OpenAiDecoder {
    fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<Flow, StreamFault> {
        if let Body::Unknown = self.body {
            // Blanks and byte order marks mean nothing in either form.
            let blank = |b: &u8| b.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(b);
            let Some(first) = bytes.iter().position(|b| !blank(b)) else { return Ok(Flow::More) };
            bytes = &bytes[first..];
            self.body = match bytes[0] {
                b'{' | b'[' => Body::Whole(Vec::new()),
                _ => Body::Events(Sse::new(self.limit)),
            };
        }
        let state = &mut self.state;
        match &mut self.body {
            Body::Unknown => {}
            Body::Events(sse) => sse.push(bytes, |event| state.event(event, false, out))?,
            Body::Whole(text) => {
                if text.len() + bytes.len() > self.limit {
                    return Err(BrokenStream::EventTooLong { limit: self.limit }.into());
                }
                text.extend_from_slice(bytes);
            }
        }
        Ok(if self.state.done { Flow::Done } else { Flow::More })
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let state = &mut self.state;
        match &mut self.body {
            Body::Unknown => Ok(()),
            Body::Events(sse) => sse.finish(|event| state.event(event, true, out)),
            Body::Whole(text) => state.whole(&String::from_utf8_lossy(text), out),
        }
    }

    fn state(&self) -> StreamState {
        let state = &self.state;
        if state.reason.is_some() && !state.reason_is_noise {
            StreamState::Finished
        } else if state.reply.has_content() {
            StreamState::Content
        } else {
            StreamState::Waiting
        }
    }

    fn has_content(&self) -> bool {
        self.state.reply.has_content()
    }

    fn finish(self: Box<Self>, out: &mut Vec<ModelEvent>) -> Result<Reply, Box<Unfinished>> {
        let state = self.state;
        match state.fault() {
            Some(fault) => Err(Box::new(Unfinished { fault, partial: state.reply.partial() })),
            // A refusal that was streamed is one, whatever the last word says.
            None if state.refused => Ok(state.reply.finish(Some("refusal".to_owned()), out)),
            None => Ok(state.reply.finish(state.reason, out)),
        }
    }

    fn partial(self: Box<Self>) -> Option<Reply> {
        self.state.reply.partial()
    }
}

impl State {
    fn event(&mut self, event: SseEvent<'_>, at_end: bool, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let data = event.data.trim();
        // A gateway may wrap a comment into data.
        if self.done || data.is_empty() || data.starts_with(':') {
            return Ok(());
        }
        if event.name == "error" {
            return Err(said(data));
        }
        match self.data(data, out) {
            // Events that were glued together without a blank line, such as the last one and `[DONE]`.
            Err(StreamFault::Broken(BrokenStream::Malformed { .. })) if data.contains('\n') => {
                let glued = data.lines().try_for_each(|line| self.data(line.trim(), out));
                if at_end { glued.map_err(truncated) } else { glued }
            }
            Err(fault) if at_end => Err(truncated(fault)),
            other => other,
        }
    }

    fn data(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        if data.starts_with("[DONE]") {
            self.done = true;
            return Ok(());
        }
        if self.done || data.is_empty() {
            return Ok(());
        }
        let chunk = serde_json::from_str(data).map_err(|error| malformed(data, &error))?;
        self.events += 1;
        self.chunk(chunk, data, out)
    }

    /// A body that is one object: an answer that was not streamed, or an error with status 200.
    fn whole(&mut self, text: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        if text.starts_with('[') {
            return Err(said(text));
        }
        let chunk: Chunk<'_> = serde_json::from_str(text).map_err(|error| truncated(malformed(text, &error)))?;
        if chunk.error.is_none() && chunk.choices.is_none() {
            return Err(said(text));
        }
        self.events += 1;
        self.chunk(chunk, text, out)
    }

    fn chunk(&mut self, chunk: Chunk<'_>, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.reply.set_model(Text::filled(&chunk.model));
        let flat_error = chunk.choices.is_none() && FlatError::is_in(data);
        if flat_error || chunk.error.is_some_and(|error| !matches!(error.get(), "\"\"" | "{}" | "false")) {
            return Err(said(data));
        }
        let groq = chunk.x_groq.and_then(|groq| groq.usage);
        if let Some(usage) = chunk.usage.or(groq).and_then(usage::read) {
            // Cumulative or final: the last one stands, and is never added.
            self.reply.usage = usage;
        }
        if let Some(choice) = chunk.choices.and_then(|choices| choices.0) {
            self.choice(choice, out)?;
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let told = out.len();
        if let Some(delta) = choice.delta.or(choice.message) {
            self.delta(*delta, out)?;
        }
        self.reason_is_noise |= self.reason.is_some() && out.len() > told;
        if let Some(reason) = Text::filled(&choice.finish_reason) {
            self.reason = Some(reason.to_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        // Some servers send the same reasoning under both names.
        if let Some(reasoning) = delta.reasoning_content.or(delta.reasoning) {
            self.reply.reasoning(reasoning.0, out)?;
        }
        match delta.content {
            Some(TextOrParts::Text(text)) => self.reply.text(text, out)?,
            Some(TextOrParts::Parts(parts)) => self.parts(parts, out)?,
            None => {}
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.0.is_empty()) {
            self.reply.text(refusal.0, out)?;
            self.refused = true;
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call, out)?;
        }
        Ok(())
    }

    fn parts(&mut self, parts: Vec<crate::reply::Part<'_>>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        for part in parts {
            if let Some(thinking) = part.thinking {
                self.thinking(thinking, out)?;
            } else if let Some(text) = part.text {
                self.reply.text(text.0, out)?;
            }
        }
        Ok(())
    }

    fn thinking(&mut self, thinking: TextOrParts<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        match thinking {
            TextOrParts::Text(text) => self.reply.reasoning(text, out)?,
            TextOrParts::Parts(parts) => {
                for text in parts.into_iter().filter_map(|part| part.text) {
                    self.reply.reasoning(text.0, out)?;
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, call: Call<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let function = call.function.as_ref();
        let piece = CallPiece {
            whole: false,
            index: call.index,
            id: Text::filled(&call.id),
            name: function.and_then(|function| Text::filled(&function.name)),
            arguments: function.and_then(|function| function.arguments).map_or(Cow::Borrowed(""), argument_text),
            extra: call.extra_content.and_then(|extra| serde_json::from_str::<Value>(extra.get()).ok()),
        };
        Ok(self.reply.call(piece, out)?)
    }

    /// Why the events are no answer, if they are none. `[DONE]` proves nothing, and its absence neither; a word on why the
    /// reply ended does.
    fn fault(&self) -> Option<StreamFault> {
        let (prompt, window) = (self.reply.usage.input_tokens.unwrap_or(0), self.context_window);
        let fills_window = prompt >= window / 100 * 99;
        match self.reason.as_deref() {
            Some(reason @ ("error" | "abort" | "insufficient_system_resource")) => {
                Some(BrokenStream::BrokenOff { reason: reason.to_owned() }.into())
            }
            Some("length") if !self.reply.has_content() && fills_window => {
                Some(StreamFault::PromptFillsWindow { prompt, window })
            }
            Some(_) => None,
            None if self.done && self.reply.has_content() => None,
            None if self.reply.has_content() => Some(BrokenStream::Truncated.into()),
            None if prompt > 0 && fills_window => Some(StreamFault::PromptFillsWindow { prompt, window }),
            None if self.events == 0 || self.done => Some(BrokenStream::Empty.into()),
            None => Some(BrokenStream::Truncated.into()),
        }
    }
}

/// The server's own report of a failure.
fn said(data: &str) -> StreamFault {
    StreamFault::Said(Box::new(ServerWords::from_text(data)))
}

/// What the connection's end cut off is no fault of the server's JSON.
fn truncated(fault: StreamFault) -> StreamFault {
    match fault {
        StreamFault::Broken(BrokenStream::Malformed { .. }) => BrokenStream::Truncated.into(),
        other => other,
    }
}
