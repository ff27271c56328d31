//! Replies as bytes: what the canonical server of each protocol would send.

use serde_json::Value;

use crate::call::Call;
use crate::names;
use crate::protocol::Protocol;
use crate::record::RecordedRequest;
use crate::reply::{Fault, Message, Text, Usage};

mod anthropic;
mod ollama;
mod openai;

/// A response body and where its events end.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

impl Rendered {
    /// Ends the event written to `bytes` since the last end.
    fn end_event(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

/// What a message needs to know of the request it answers.
pub(crate) struct Context<'a> {
    pub(crate) request: &'a RecordedRequest,
    pub(crate) mapping: &'a dyn Fn(&str) -> String,
}

impl Context<'_> {
    fn wire_name(&self, call: &Call) -> String {
        names::wire_name(&call.name, &self.request.tool_names(), self.mapping)
    }

    /// Input and output tokens, unless the reply keeps them to itself.
    fn usage(&self, message: &Message) -> Option<(u64, u64)> {
        match message.usage {
            Usage::Absent => None,
            Usage::Exact { input, output } => Some((input, output)),
            Usage::Estimated => {
                let calls: usize = message.calls.iter().map(|call| call.name.len() + call.arguments_text().len()).sum();
                let output = message.thinking.len() + message.text.len() + calls;
                Some((tokens(self.request.raw.len()), tokens(output)))
            }
        }
    }
}

/// At least one: even an empty answer costs its end token.
fn tokens(bytes: usize) -> u64 {
    bytes as u64 / 4 + 1
}

/// A message as the protocol's stream.
pub(crate) fn message(message: &Message, context: &Context<'_>) -> Rendered {
    match context.request.protocol {
        Protocol::Ollama => ollama::message(message, context),
        Protocol::OpenAi => openai::message(message, context),
        Protocol::Anthropic => anthropic::message(message, context),
    }
}

/// An error as the protocol's status and body.
pub(crate) fn fault(protocol: Protocol, fault: &Fault) -> (u16, Value) {
    match protocol {
        Protocol::Ollama => ollama::fault(fault),
        Protocol::OpenAi => openai::fault(fault),
        Protocol::Anthropic => anthropic::fault(fault),
    }
}

impl Text {
    fn len(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Flood { count, delta } => count * delta.len(),
        }
    }

    /// The deltas of the text; none if it is empty.
    fn deltas(&self, chunks: usize) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Whole(text) => Box::new(split(text, chunks)),
            Self::Flood { count, delta } => Box::new(std::iter::repeat_n(delta.as_str(), *count)),
        }
    }
}

/// Up to `n` pieces of about the same number of characters, none empty.
fn split(text: &str, n: usize) -> impl Iterator<Item = &str> {
    let total = text.chars().count();
    let pieces = n.clamp(1, total.max(1));
    let border = move |i: usize| total * i / pieces;
    let mut rest = text;
    (0..pieces).map_while(move |i| {
        let length: usize = rest.chars().take(border(i + 1) - border(i)).map(char::len_utf8).sum();
        let (piece, after) = rest.split_at(length);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Appends `before`, `text` as a JSON string and `after`: a flood must not build a tree per delta.
fn push_json_text(bytes: &mut Vec<u8>, before: &str, text: &str, after: &str) {
    bytes.extend_from_slice(before.as_bytes());
    push_value(bytes, text);
    bytes.extend_from_slice(after.as_bytes());
}

fn push_value(bytes: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    // Writing to memory does not fail, and neither values nor text have keys that are not strings.
    if let Err(e) = serde_json::to_writer(bytes, value) {
        panic!("serialise a reply: {e}");
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn text_splits_into_even_pieces_between_characters() {
        let cases: [(&str, usize, &[&str]); 6] = [
            ("abcdef", 3, &["ab", "cd", "ef"]),
            ("abcde", 2, &["ab", "cde"]),
            ("äöü", 3, &["ä", "ö", "ü"]),
            ("ab", 9, &["a", "b"]),
            ("ab", 0, &["ab"]),
            ("", 4, &[]),
        ];
        for (text, n, expected) in cases {
            assert_eq!(split(text, n).collect::<Vec<_>>(), expected, "{text:?} in {n}");
        }
    }
}
