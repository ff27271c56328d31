//! Reads the answer of `/v1/messages`: events, ended by `message_stop`, or one object where a server does not stream.

use agent_protocol::{ModelEvent, Reply};
use serde_json::value::RawValue;

use super::blocks::Blocks;
use super::event::{Event, Message, tidy};
use super::usage::Tally;
use crate::dialect::{Decoder, Flow, StreamFault, StreamState, Unfinished, malformed};
use crate::event_body::{EventBody, ReadEvents};
use crate::fault::ServerWords;
use crate::framing::SseEvent;
use crate::reply::mend::mend;
use crate::reply::{ReplyBuilder, Text};
use crate::{BrokenStream, LimitSettings};

/// The prompt and what was written fill the model's window.
const WINDOW_EXCEEDED: &str = "model_context_window_exceeded";

/// The decoder of one answer.
pub(super) struct AnthropicDecoder {
    body: EventBody,
    state: State,
}

struct State {
    reply: ReplyBuilder,
    context_window: u64,
    blocks: Blocks,
    tally: Tally,
    /// The message that has begun.
    message: Option<String>,
    /// The last word on why the reply ended.
    reason: Option<String>,
    /// The end mark has come.
    stopped: bool,
    events: u64,
}

impl AnthropicDecoder {
    pub(super) fn new(reply: ReplyBuilder, context_window: u64, limits: LimitSettings) -> Self {
        let state = State {
            reply,
            context_window,
            blocks: Blocks::default(),
            tally: Tally::default(),
            message: None,
            reason: None,
            stopped: false,
            events: 0,
        };
        Self { body: EventBody::new(limits.event_bytes), state }
    }
}

impl Decoder for AnthropicDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<Flow, StreamFault> {
        self.body.feed(bytes, &mut self.state, out)
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.body.end(&mut self.state, out)
    }

    fn state(&self) -> StreamState {
        if self.state.reply.has_content() { StreamState::Content } else { StreamState::Waiting }
    }

    fn has_content(&self) -> bool {
        self.state.reply.has_content()
    }

    fn finish(self: Box<Self>, out: &mut Vec<ModelEvent>) -> Result<Reply, Box<Unfinished>> {
        let mut state = self.state;
        state.reply.usage = state.tally.usage();
        match state.fault() {
            Some(fault) => Err(Box::new(Unfinished { fault, partial: state.reply.partial() })),
            None => Ok(state.reply.finish(state.reason, out)),
        }
    }

    fn partial(self: Box<Self>) -> Option<Reply> {
        let mut state = self.state;
        state.reply.usage = state.tally.usage();
        state.reply.partial()
    }
}

impl ReadEvents for State {
    fn event(&mut self, event: SseEvent<'_>, at_end: bool, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let data = event.data.trim();
        // A gateway may wrap a comment into data, or end with OpenAI's mark.
        if self.stopped || data.is_empty() || data.starts_with(':') || data.starts_with("[DONE]") {
            return Ok(());
        }
        if event.name == "error" {
            return Err(said(data));
        }
        match serde_json::from_str::<Event<'_>>(data) {
            Ok(said) => self.take(said, event.name, data, out),
            // Events that were glued together without a blank line; each names its type itself.
            Err(_) if data.contains('\n') => {
                data.lines().try_for_each(|data| self.event(SseEvent { name: "", data }, at_end, out))
            }
            Err(error) => match mend(data, tidy) {
                Some(mended) => {
                    let said = serde_json::from_str(&mended).map_err(|error| malformed(data, &error))?;
                    self.reply.set_mended(true);
                    let result = self.take(said, event.name, data, out);
                    self.reply.set_mended(false);
                    result
                }
                // What the connection's end cut off is no fault of the server's JSON.
                None if at_end => Err(BrokenStream::Truncated.into()),
                None => Err(malformed(data, &error)),
            },
        }
    }

    /// A body that is one object.
    fn whole(&mut self, text: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let Ok(message) = serde_json::from_str::<Message<'_>>(text) else {
            let complete = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            return Err(if complete { said(text) } else { BrokenStream::Truncated.into() });
        };
        if message.content.is_none() {
            return Err(said(text));
        }
        self.events += 1;
        self.reason = Text::filled(&message.stop_reason).map(str::to_owned);
        self.stopped = true;
        self.message(message, out)
    }

    fn is_done(&self) -> bool {
        self.stopped
    }
}

impl State {
    /// An event, by its type; where a relay leaves that out, by its name. Unknown ones are passed over: the protocol grows.
    fn take(&mut self, event: Event<'_>, name: &str, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.events += 1;
        match Text::filled(&event.kind).unwrap_or(name) {
            "error" => return Err(said(data)),
            "message_start" => {
                if let Some(message) = event.message {
                    self.message_start(message, out)?;
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.blocks.begin(event.index, block, &mut self.reply, out)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.blocks.add(event.index, &delta, &mut self.reply, out)?;
                }
            }
            "content_block_stop" => self.blocks.end(event.index, &mut self.reply, out)?,
            "message_delta" => {
                if let Some(reason) = event.delta.as_ref().and_then(|delta| Text::filled(&delta.stop_reason)) {
                    self.reason = Some(reason.to_owned());
                }
                self.count(event.usage);
            }
            "message_stop" => {
                self.blocks.end_all(&mut self.reply, out)?;
                self.stopped = true;
            }
            _ if event.error.is_some() => return Err(said(data)),
            _ => {}
        }
        Ok(())
    }

    fn message_start(&mut self, raw: &RawValue, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let message: Message<'_> = serde_json::from_str(raw.get()).map_err(|error| malformed(raw.get(), &error))?;
        let id = Text::filled(&message.id).unwrap_or_default();
        match &self.message {
            None => self.message = Some(id.to_owned()),
            // A relay says it twice.
            Some(known) if known == id => return Ok(()),
            Some(known) => {
                let reason = format!("message {id} begins before message {known} has ended");
                let sample = raw.get().chars().take(120).collect();
                return Err(BrokenStream::Malformed { reason, sample, redacted: false }.into());
            }
        }
        self.message(message, out)
    }

    /// What a message holds at once: nothing, as a rule, or all of it.
    fn message(&mut self, message: Message<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.reply.set_model(Text::filled(&message.model));
        self.count(message.usage);
        for block in message.content.into_iter().flatten() {
            self.blocks.begin(None, block, &mut self.reply, out)?;
            self.blocks.end(None, &mut self.reply, out)?;
        }
        Ok(())
    }

    fn count(&mut self, usage: Option<&RawValue>) {
        if let Some(usage) = usage {
            self.tally.take(usage);
        }
    }

    /// Why the events are no answer, if they are none. Only the end mark makes them one (PRV-7).
    fn fault(&self) -> Option<StreamFault> {
        let (prompt, window) = (self.reply.usage.input_tokens.unwrap_or(0), self.context_window);
        if self.reply.has_content() {
            return match self.reason.as_deref() {
                _ if !self.stopped => Some(BrokenStream::Truncated.into()),
                // What was begun cannot be finished beside this prompt: asked to go on, it would end there again.
                Some(WINDOW_EXCEEDED) => Some(StreamFault::PromptFillsWindow { prompt, window }),
                _ => None,
            };
        }
        match self.reason.as_deref() {
            _ if self.events == 0 => Some(BrokenStream::Empty.into()),
            _ if !self.stopped => Some(BrokenStream::Truncated.into()),
            Some(WINDOW_EXCEEDED) => Some(StreamFault::PromptFillsWindow { prompt, window }),
            Some("max_tokens") if prompt >= window / 100 * 99 => {
                Some(StreamFault::PromptFillsWindow { prompt, window })
            }
            Some(_) => None,
            None => Some(BrokenStream::Empty.into()),
        }
    }
}

/// The server's own report of a failure.
fn said(data: &str) -> StreamFault {
    StreamFault::Said(Box::new(ServerWords::from_text(data)))
}
