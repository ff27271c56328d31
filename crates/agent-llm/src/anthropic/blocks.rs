//! The blocks of a reply while they are open. Several may be open at once, under numbers that may repeat or be missing.

use agent_protocol::{ModelEvent, Object};
use serde_json::Value;
use serde_json::value::RawValue;

use super::event::Delta;
use crate::dialect::{StreamFault, malformed};
use crate::reply::{CallPiece, ReplyBuilder, Text};

/// Most blocks that are open at once. A server that ends none has ended those that lie further back.
const MAX_OPEN: usize = 256;

/// The open blocks, and how many there were.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Vec<(u64, Block)>,
    begun: u64,
}

/// An open block, and where its content goes.
#[derive(Debug)]
enum Block {
    Text { place: usize },
    Call { number: u64, input: String, has_pieces: bool },
    Kept { place: usize, input: Option<String> },
}

impl Blocks {
    /// Begins a block. What it already holds counts.
    pub(super) fn begin(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        reply: &mut ReplyBuilder,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), StreamFault> {
        let block: Object = serde_json::from_str(raw.get()).map_err(|error| malformed(raw.get(), &error))?;
        let text = |field: &str| block.get(field).and_then(Value::as_str).unwrap_or_default();
        let begun = match text("type") {
            "text" => {
                let place = self.open_text(reply);
                reply.text_at(place, text("text").into(), out)?;
                Block::Text { place }
            }
            "tool_use" => self.begin_call(&block, reply, out)?,
            kind => {
                let thought = (kind == "thinking").then(|| text("thinking").to_owned());
                let place = reply.keep(block, raw.get().len(), out)?;
                tell_thought(&thought.unwrap_or_default(), out);
                Block::Kept { place, input: None }
            }
        };
        self.open(index, begun, reply, out)
    }

    fn open_text(&self, reply: &mut ReplyBuilder) -> usize {
        reply.open_text(self.open.iter().any(|(_, block)| matches!(block, Block::Text { .. })))
    }

    fn begin_call(
        &self,
        block: &Object,
        reply: &mut ReplyBuilder,
        out: &mut Vec<ModelEvent>,
    ) -> Result<Block, StreamFault> {
        let text = |field: &str| block.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        // Our own number: those of the server may repeat, as ids do that a relay makes.
        let number = self.begun;
        let (id, name) = (text("id"), text("name"));
        reply.call(CallPiece { index: Some(number), id, name, ..CallPiece::default() }, out)?;
        // A placeholder, unless no piece follows.
        let input = block.get("input").filter(|input| !is_empty(input)).map(Value::to_string);
        Ok(Block::Call { number, input: input.unwrap_or_default(), has_pieces: false })
    }

    fn open(
        &mut self,
        index: Option<u64>,
        block: Block,
        reply: &mut ReplyBuilder,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), StreamFault> {
        // What a block costs, though it hold nothing.
        reply.count(64)?;
        let index = index.unwrap_or(self.begun);
        self.begun += 1;
        // A number that begins anew has ended.
        self.end(Some(index), reply, out)?;
        if self.open.len() >= MAX_OPEN {
            self.open.remove(0).1.end(reply, out)?;
        }
        self.open.push((index, block));
        Ok(())
    }

    /// Adds to a block. Without a number it is the one that began last; text and thoughts need no beginning.
    pub(super) fn add(
        &mut self,
        index: Option<u64>,
        delta: &Delta<'_>,
        reply: &mut ReplyBuilder,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), StreamFault> {
        if self.position(index).is_none() {
            let begun = match (Text::filled(&delta.text), Text::filled(&delta.thinking)) {
                (Some(_), _) => Block::Text { place: self.open_text(reply) },
                (None, Some(_)) => {
                    let thought = Object::from_iter([("type".to_owned(), "thinking".into()), empty("thinking")]);
                    Block::Kept { place: reply.keep(thought, 0, out)?, input: None }
                }
                (None, None) => return Ok(()),
            };
            self.open(index, begun, reply, out)?;
        }
        match self.position(index).and_then(|at| self.open.get_mut(at)) {
            Some((_, block)) => block.add(delta, reply, out),
            None => Ok(()),
        }
    }

    /// Ends a block.
    pub(super) fn end(
        &mut self,
        index: Option<u64>,
        reply: &mut ReplyBuilder,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), StreamFault> {
        match self.position(index) {
            Some(at) => self.open.remove(at).1.end(reply, out),
            None => Ok(()),
        }
    }

    /// Ends what is open.
    pub(super) fn end_all(&mut self, reply: &mut ReplyBuilder, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.open.drain(..).try_for_each(|(_, block)| block.end(reply, out))
    }

    fn position(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(index) => self.open.iter().position(|(open, _)| *open == index),
            None => self.open.len().checked_sub(1),
        }
    }
}

impl Block {
    fn add(
        &mut self,
        delta: &Delta<'_>,
        reply: &mut ReplyBuilder,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), StreamFault> {
        let piece = Text::filled(&delta.partial_json);
        match self {
            Self::Text { place } => {
                if let Some(text) = &delta.text {
                    reply.text_at(*place, text.0.clone(), out)?;
                }
            }
            Self::Call { number, has_pieces, .. } => {
                if let Some(piece) = piece {
                    *has_pieces = true;
                    let arguments = piece.into();
                    reply.call(CallPiece { index: Some(*number), arguments, ..CallPiece::default() }, out)?;
                }
            }
            Self::Kept { place, input } => {
                if let Some(piece) = piece {
                    reply.grow(piece.len(), out)?;
                    input.get_or_insert_default().push_str(piece);
                }
                add_to_kept(*place, delta, reply, out)?;
            }
        }
        Ok(())
    }

    fn end(self, reply: &mut ReplyBuilder, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        match self {
            Self::Call { number, input, has_pieces: false } if !input.is_empty() => {
                reply.call(CallPiece { index: Some(number), arguments: input.into(), ..CallPiece::default() }, out)?;
            }
            Self::Kept { place, input: Some(input) } => {
                let input = serde_json::from_str::<Object>(&input).unwrap_or_default();
                if let Some(block) = reply.kept(place) {
                    block.insert("input".to_owned(), Value::Object(input));
                }
            }
            Self::Text { .. } | Self::Call { .. } | Self::Kept { .. } => {}
        }
        Ok(())
    }
}

fn add_to_kept(
    place: usize,
    delta: &Delta<'_>,
    reply: &mut ReplyBuilder,
    out: &mut Vec<ModelEvent>,
) -> Result<(), StreamFault> {
    if let Some(thought) = Text::filled(&delta.thinking) {
        reply.extend_kept(place, "thinking", thought, out)?;
        tell_thought(thought, out);
    }
    if let Some(text) = Text::filled(&delta.text) {
        reply.extend_kept(place, "text", text, out)?;
    }
    if let Some(signature) = Text::filled(&delta.signature) {
        reply.grow(signature.len(), out)?;
        // A signature comes whole: a second one takes the place of the first.
        if let Some(block) = reply.kept(place) {
            block.insert("signature".to_owned(), signature.into());
        }
    }
    Ok(())
}

fn tell_thought(text: &str, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(ModelEvent::ReasoningDelta { text: text.to_owned() });
    }
}

fn empty(field: &str) -> (String, Value) {
    (field.to_owned(), Value::String(String::new()))
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(Object::is_empty)
}
