//! The body of an answer that should be a stream of events, and is a single text where a server does not stream.

use agent_protocol::ModelEvent;

use crate::BrokenStream;
use crate::dialect::{Flow, StreamFault};
use crate::framing::{Sse, SseEvent};

/// What a protocol makes of its events.
pub(crate) trait ReadEvents {
    /// Takes one event. `at_end` says that the body ended inside it.
    fn event(&mut self, event: SseEvent<'_>, at_end: bool, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault>;

    /// Takes a body that is no stream.
    fn whole(&mut self, text: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault>;

    /// The end mark has come.
    fn is_done(&self) -> bool;
}

/// A body on its way in.
pub(crate) struct EventBody {
    form: Form,
    /// Longest event, in bytes; also longest whole body.
    limit: usize,
}

/// Told by the first byte: headers cannot be trusted with that.
enum Form {
    Unknown,
    Events(Sse),
    Whole(Vec<u8>),
}

impl EventBody {
    pub(crate) fn new(limit: usize) -> Self {
        Self { form: Form::Unknown, limit }
    }

    /// Takes the next bytes.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        reader: &mut impl ReadEvents,
        out: &mut Vec<ModelEvent>,
    ) -> Result<Flow, StreamFault> {
        if let Form::Unknown = self.form {
            // Blanks and byte order marks mean nothing in either form.
            let blank = |b: &u8| b.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(b);
            let Some(first) = bytes.iter().position(|b| !blank(b)) else { return Ok(Flow::More) };
            bytes = &bytes[first..];
            self.form = match bytes[0] {
                b'{' | b'[' => Form::Whole(Vec::new()),
                _ => Form::Events(Sse::new(self.limit)),
            };
        }
        match &mut self.form {
            Form::Unknown => {}
            Form::Events(sse) => {
                let pushed = sse.push(bytes, |event| reader.event(event, false, out));
                // What comes in the same packet as the end mark is no part of the reply, however long it is.
                if !reader.is_done() {
                    pushed?;
                }
            }
            Form::Whole(text) => {
                if text.len() + bytes.len() > self.limit {
                    return Err(BrokenStream::EventTooLong { limit: self.limit }.into());
                }
                text.extend_from_slice(bytes);
            }
        }
        Ok(if reader.is_done() { Flow::Done } else { Flow::More })
    }

    /// There are no more bytes.
    pub(crate) fn end(&mut self, reader: &mut impl ReadEvents, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Events(sse) => sse.finish(|event| reader.event(event, true, out)),
            Form::Whole(text) => reader.whole(&String::from_utf8_lossy(text), out),
        }
    }
}
