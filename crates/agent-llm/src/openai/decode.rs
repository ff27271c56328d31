//! Reads the answer of `/chat/completions`: events, or one object where a server does not stream.

use std::borrow::Cow;

use agent_protocol::{ModelEvent, Reply};
use serde_json::Value;

use super::chunk::{Call, Choice, Chunk, Delta, FlatError, tidy};
use super::ending::Ending;
use super::usage;
use crate::dialect::{Decoder, Flow, StreamFault, StreamState, Unfinished, malformed};
use crate::event_body::{EventBody, ReadEvents};
use crate::fault::ServerWords;
use crate::framing::SseEvent;
use crate::reply::mend::mend;
use crate::reply::{CallPiece, ReplyBuilder, Text, TextOrParts, argument_text};
use crate::{BrokenStream, LimitSettings};

/// How many generated tokens without any content are too many to be an honest empty answer.
const SUSPICIOUS_TOKENS: u64 = 8;

/// The decoder of one answer.
pub(super) struct OpenAiDecoder {
    body: EventBody,
    state: State,
}

struct State {
    reply: ReplyBuilder,
    context_window: u64,
    ending: Ending,
    /// The model declined, in a field of its own.
    refused: bool,
    done: bool,
    events: u64,
    /// Events with a choice.
    choices: u64,
    /// Which of several choices the reply is made of.
    chosen: Option<u64>,
    /// The body is one object: its calls are whole.
    is_whole: bool,
    /// A choice held a message, which is whole, and no piece of one.
    has_message: bool,
    /// Calls came in the list for them. A gateway may say the first one again in the older field.
    has_listed_calls: bool,
}

impl OpenAiDecoder {
    pub(super) fn new(reply: ReplyBuilder, context_window: u64, limits: LimitSettings) -> Self {
        let state = State {
            reply,
            context_window,
            ending: Ending::default(),
            refused: false,
            done: false,
            events: 0,
            choices: 0,
            chosen: None,
            is_whole: false,
            has_message: false,
            has_listed_calls: false,
        };
        Self { body: EventBody::new(limits.event_bytes), state }
    }
}

impl Decoder for OpenAiDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<Flow, StreamFault> {
        self.body.feed(bytes, &mut self.state, out)
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.body.end(&mut self.state, out)
    }

    fn state(&self) -> StreamState {
        self.state.ending.state(self.state.reply.has_content())
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
            None => Ok(state.reply.finish(state.ending.into_reason(), out)),
        }
    }

    fn partial(self: Box<Self>) -> Option<Reply> {
        self.state.reply.partial()
    }
}

impl ReadEvents for State {
    fn event(&mut self, event: SseEvent<'_>, at_end: bool, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let data = event.data.trim();
        // A gateway may wrap a comment into data.
        if self.done || data.is_empty() || data.starts_with(':') {
            return Ok(());
        }
        if event.name == "error" {
            return Err(said(data));
        }
        let result = match self.data(data, event.name, out) {
            // Events that were glued together without a blank line, such as the last one and `[DONE]`.
            Err(StreamFault::Broken(BrokenStream::Malformed { .. })) if data.contains('\n') => {
                data.lines().try_for_each(|line| self.data(line.trim(), event.name, out))
            }
            other => other,
        };
        match result {
            // The reply is complete, or the event is of a kind that we know nothing of.
            Err(StreamFault::Broken(BrokenStream::Malformed { .. })) if self.ending.is_over() || is_foreign(&event) => {
                Ok(())
            }
            // What the connection's end cut off is no fault of the server's JSON.
            Err(StreamFault::Broken(BrokenStream::Malformed { .. })) if at_end => Err(BrokenStream::Truncated.into()),
            other => other,
        }
    }

    /// A body that is one object: an answer that was not streamed, or an error with status 200. Or events without a frame.
    fn whole(&mut self, text: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let text = text.trim();
        self.is_whole = true;
        let read = self.data(text, "", out);
        self.is_whole = false;
        match read {
            Ok(()) if self.choices == 0 && self.events > 0 => Err(said(text)),
            // What is whole needs no word for its end.
            Ok(()) => {
                self.done |= self.has_message;
                Ok(())
            }
            Err(StreamFault::Broken(BrokenStream::Malformed { .. })) if is_cut(text) => {
                Err(BrokenStream::Truncated.into())
            }
            Err(StreamFault::Broken(BrokenStream::Malformed { .. })) if text.contains('\n') => {
                let mut lines = text.lines().peekable();
                while let Some(data) = lines.next() {
                    self.event(SseEvent { name: "", data }, lines.peek().is_none(), out)?;
                }
                Ok(())
            }
            Err(fault) => Err(fault),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl State {
    fn data(&mut self, data: &str, name: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        if data.starts_with("[DONE]") {
            self.done = true;
            return Ok(());
        }
        if self.done || data.is_empty() {
            return Ok(());
        }
        // A derived reader takes a list for an object in the order of its fields; here it is Google's list of one error.
        if data.starts_with('[') {
            let list: Result<serde::de::IgnoredAny, _> = serde_json::from_str(data);
            return Err(list.map_or_else(|error| malformed(data, &error), |_| said(data)));
        }
        match serde_json::from_str(data) {
            Ok(chunk) => self.chunk(chunk, name, data, out),
            Err(error) => self.odd(data, name, &error, out),
        }
    }

    /// What the strict reading refuses.
    fn odd(
        &mut self,
        data: &str,
        name: &str,
        error: &serde_json::Error,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), StreamFault> {
        let mended = mend(data, tidy).ok_or_else(|| malformed(data, error))?;
        let chunk = serde_json::from_str(&mended).map_err(|error| malformed(data, &error))?;
        self.reply.set_mended(true);
        let result = self.chunk(chunk, name, data, out);
        self.reply.set_mended(false);
        result
    }

    fn chunk(
        &mut self,
        chunk: Chunk<'_>,
        name: &str,
        data: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), StreamFault> {
        self.events += 1;
        self.reply.next_message();
        let is_bare = chunk.choices.is_none() && chunk.usage.is_none() && chunk.model.is_none();
        let flat_error = is_bare && matches!(name, "" | "message") && FlatError::is_in(data, self.ending.is_over());
        if flat_error || chunk.error.is_some_and(|error| !matches!(error.get(), "\"\"" | "{}" | "false")) {
            return Err(said(data));
        }
        self.reply.set_model(Text::filled(&chunk.model));
        let groq = chunk.x_groq.and_then(|groq| groq.usage);
        let usage = chunk.usage.or(groq).and_then(usage::read);
        let counts = usage.is_some();
        if let Some(usage) = usage {
            // Cumulative or final: the last one stands, and is never added.
            self.reply.usage = usage;
        }
        let (choice, others) = chunk.choices.map_or((None, false), |choices| choices.pick(&mut self.chosen));
        if others {
            self.reply.note("other_choices_left_out", true.into());
        }
        match choice {
            Some(choice) => self.choice(choice, out)?,
            None if counts && !others => self.ending.counts(),
            None => {}
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.choices += 1;
        self.has_message |= choice.message.is_some();
        let before = self.reply.size();
        if let Some(delta) = choice.delta.or(choice.message) {
            self.delta(*delta, out)?;
        }
        let after = self.reply.size();
        self.ending.choice(Text::filled(&choice.finish_reason), after > before, after > 0);
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        // Some servers send the same reasoning under both names, or leave one of them empty.
        let reasoning = delta.reasoning_content.filter(|text| !text.0.is_empty()).or(delta.reasoning);
        if let Some(reasoning) = reasoning {
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
            self.has_listed_calls = true;
            self.call(call, out)?;
        }
        if let Some(function) = delta.function_call.filter(|_| !self.has_listed_calls) {
            // There is no more than one, and it has no id.
            self.call(Call { index: Some(0), id: None, function: Some(function), extra_content: None }, out)?;
        }
        if let Some(extra) = delta.extra_content {
            self.reply.count(extra.get().len())?;
            self.reply.last_call_extra(serde_json::from_str(extra.get()).unwrap_or_default());
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
        self.reply.count(call.extra_content.map_or(0, |extra| extra.get().len()))?;
        let piece = CallPiece {
            whole: self.is_whole,
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
        let usage = &self.reply.usage;
        let (prompt, window) = (usage.input_tokens.unwrap_or(0), self.context_window);
        let fills_window = prompt >= window / 100 * 99;
        let has_content = self.reply.has_content() || self.reply.holds();
        let generated = usage.output_tokens.unwrap_or(0).saturating_sub(usage.reasoning_tokens.unwrap_or(0));
        match self.ending.reason() {
            Some(reason @ ("error" | "abort" | "insufficient_system_resource")) => {
                Some(BrokenStream::BrokenOff { reason: reason.to_owned() }.into())
            }
            // Gateways pass on the word of Anthropic's API.
            Some("model_context_window_exceeded") => Some(StreamFault::PromptFillsWindow { prompt, window }),
            Some("length") if !has_content && fills_window => Some(StreamFault::PromptFillsWindow { prompt, window }),
            Some("stop" | "tool_calls" | "function_call") if !has_content && generated >= SUSPICIOUS_TOKENS => {
                Some(BrokenStream::NothingDelivered { tokens: generated }.into())
            }
            Some(_) => None,
            None if self.done && has_content => None,
            None if has_content => Some(BrokenStream::Truncated.into()),
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

/// Whether an event is of a kind that this protocol does not have. What looks like one of its own is broken.
fn is_foreign(event: &SseEvent<'_>) -> bool {
    !matches!(event.name, "" | "message") && !event.data.trim_start().starts_with('{')
}

/// Whether a text is the beginning of a JSON value whose end is missing.
fn is_cut(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_err_and(|error| error.is_eof())
}
