//! What the server answers, in words that fit every protocol.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};

use crate::call::Call;
use crate::gate::{Gate, GateState};

/// One scripted answer to one model request.
///
/// Start with a constructor ([`Reply::text`], [`Reply::status`], …) and chain. A message is written in whatever protocol
/// the request came in, in the canonical order thinking, text, calls, end.
///
/// # Panics
/// Methods that shape a message ([`Reply::calls`], [`Reply::usage`], …) panic on replies that are none.
#[derive(Clone, Debug)]
#[must_use]
pub struct Reply {
    pub(crate) content: Content,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) delivery: Plan,
}

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// It was done; OpenAI says `tool_calls` and Anthropic `tool_use` when the message holds calls, Ollama says `stop` either
    /// way.
    #[default]
    End,
    /// The output limit.
    Length,
    /// OpenAI's content filter, Anthropic's `refusal`; Ollama has no word for it and says `stop`.
    Filter,
    /// The reason as a server outside the standard spells it, e.g. `model_length`.
    Named(String),
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Message(Message),
    /// An error in the protocol's own shape.
    Fault(Fault),
    /// Bytes as given. `streamed`: without a Content-Length.
    Exact {
        status: u16,
        content_type: HeaderValue,
        body: Bytes,
        streamed: bool,
    },
    /// No answer at all, the connection stays open.
    Hang,
    /// No answer at all, the connection is closed.
    HangUp,
}

/// An error each protocol has its own words for.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Plain { status: u16, message: String },
    Overflow { requested: u64, limit: u64 },
    ModelMissing(String),
    CannotUseTools(String),
    CannotThink(String),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) thinking: String,
    pub(crate) text: Text,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    pub(crate) stop: Stop,
    pub(crate) end: End,
    /// Into how many deltas thinking, text and each call's arguments are split.
    pub(crate) chunks: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Text {
    Whole(String),
    Flood { count: usize, delta: String },
}

impl Default for Text {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Usage {
    /// A quarter of the bytes, as a real server would roughly count.
    #[default]
    Estimated,
    Exact {
        input: u64,
        output: u64,
    },
    Absent,
}

/// How a message's stream ends.
#[derive(Clone, Debug, Default)]
pub(crate) enum End {
    #[default]
    Marker,
    Missing,
    Error(String),
}

/// How the bytes of a reply go out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) gate: Option<Arc<GateState>>,
    /// Pieces of this many bytes, each flushed by itself.
    pub(crate) piece: Option<usize>,
    /// The body ends after this many bytes.
    pub(crate) limit: Option<usize>,
    pub(crate) ending: Ending,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Finish,
    /// The connection drops without the end of the HTTP body.
    Cut,
    /// The connection stays open, silent.
    Stall,
}

impl Reply {
    fn new(content: Content) -> Self {
        Self { content, headers: Vec::new(), delivery: Plan::default() }
    }

    /// An assistant message with this text, in one delta unless [`Reply::chunks`] says otherwise.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Message(Message { text: Text::Whole(text.into()), ..Message::default() }))
    }

    /// A message without content: add calls or thinking, or leave it for a model that says nothing.
    pub fn empty() -> Self {
        Self::text("")
    }

    /// A message of `count` text deltas, each `delta`.
    pub fn flood(count: usize, delta: impl Into<String>) -> Self {
        let text = Text::Flood { count, delta: delta.into() };
        Self::new(Content::Message(Message { text, ..Message::default() }))
    }

    /// An HTTP status with a JSON body as given; see [`Reply::error`] for one in the protocol's shape.
    ///
    /// # Panics
    /// Unless the status is one a final response may have, 200 to 599.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        let body: String = body.into();
        Self::new(Content::Exact {
            status: final_status(status),
            content_type: HeaderValue::from_static("application/json"),
            body: Bytes::from(body),
            streamed: false,
        })
    }

    /// An HTTP status with the protocol's own error body around `message`.
    ///
    /// # Panics
    /// As [`Reply::status`].
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self::new(Content::Fault(Fault::Plain { status: final_status(status), message: message.into() }))
    }

    /// The protocol's refusal of a prompt that does not fit the context window; counts in tokens.
    pub fn context_overflow(requested: u64, limit: u64) -> Self {
        Self::new(Content::Fault(Fault::Overflow { requested, limit }))
    }

    /// Status 200 and exactly these bytes, streamed in one piece unless [`Reply::pieces_of`] says otherwise.
    ///
    /// # Panics
    /// If the content type is no legal header value.
    pub fn raw(body: impl Into<Vec<u8>>, content_type: &str) -> Self {
        let content_type = HeaderValue::try_from(content_type)
            .unwrap_or_else(|e| panic!("content type {content_type:?} of a reply: {e}"));
        Self::new(Content::Exact { status: 200, content_type, body: Bytes::from(body.into()), streamed: true })
    }

    /// Takes the request and never answers, not even with a status line.
    pub fn hang() -> Self {
        Self::new(Content::Hang)
    }

    /// Takes the request and closes the connection without a byte of an answer.
    pub fn hang_up() -> Self {
        Self::new(Content::HangUp)
    }

    /// Adds tool calls, after the text.
    pub fn calls(mut self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.message().calls.extend(calls);
        self
    }

    /// Adds reasoning, before the text (`thinking`, `reasoning_content`); Anthropic signs it.
    pub fn thinking(mut self, thinking: impl Into<String>) -> Self {
        self.message().thinking = thinking.into();
        self
    }

    /// Reports these token counts instead of estimated ones.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.message().usage = Usage::Exact { input, output };
        self
    }

    /// Reports no token counts.
    pub fn no_usage(mut self) -> Self {
        self.message().usage = Usage::Absent;
        self
    }

    /// Sets why the model stopped.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.message().stop = stop;
        self
    }

    /// Splits text, thinking and (not for Ollama) each call's arguments into up to `n` deltas, never within a character.
    pub fn chunks(mut self, n: usize) -> Self {
        self.message().chunks = Some(n.max(1));
        self
    }

    /// Ends the HTTP body properly after the content, but without the protocol's end marker.
    pub fn without_end(mut self) -> Self {
        self.message().end = End::Missing;
        self
    }

    /// Ends with an error inside the stream (status 200 long gone) instead of the end marker.
    pub fn then_error(mut self, message: impl Into<String>) -> Self {
        self.message().end = End::Error(message.into());
        self
    }

    /// Drops the connection after the content, before the protocol's end marker.
    pub fn drop_connection(mut self) -> Self {
        self.message().end = End::Missing;
        self.delivery.ending = Ending::Cut;
        self
    }

    /// Drops the connection after exactly `bytes` bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.delivery.limit = Some(bytes);
        self.delivery.ending = Ending::Cut;
        self
    }

    /// Falls silent after `bytes` bytes of the body, with the connection open.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.delivery.limit = Some(bytes);
        self.delivery.ending = Ending::Stall;
        self
    }

    /// Sends the body in pieces of `bytes` bytes, each handed to the socket before the next.
    pub fn pieces_of(mut self, bytes: usize) -> Self {
        self.delivery.piece = Some(bytes.max(1));
        self
    }

    /// Adds a response header.
    ///
    /// # Panics
    /// If name or value is not legal in HTTP.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.try_header(name, value).unwrap_or_else(|e| panic!("header {name}: {value:?}: {e}"))
    }

    pub(crate) fn try_header(mut self, name: &str, value: &str) -> Result<Self, hyper::http::Error> {
        self.headers.push((HeaderName::try_from(name)?, HeaderValue::try_from(value)?));
        Ok(self)
    }

    /// Holds every chunk until the gate lets it go: a delta, or a step of the end; OpenAI's and Anthropic's messages begin with
    /// one that holds nothing. Take this last, after everything that shapes the reply.
    pub fn gated(mut self) -> (Self, Gate) {
        let (gate, state) = Gate::new();
        self.delivery.gate = Some(state);
        (self, gate)
    }

    /// An error each protocol has its own words for.
    pub(crate) fn fault(fault: Fault) -> Self {
        Self::new(Content::Fault(fault))
    }

    fn message(&mut self) -> &mut Message {
        match &mut self.content {
            Content::Message(message) => message,
            other => panic!("only a message has calls, usage and the like; this reply is {other:?}"),
        }
    }
}

fn final_status(status: u16) -> u16 {
    assert!((200..=599).contains(&status), "{status} is no status of a final response");
    status
}
