//! From the neutral messages to turns that the API takes: user and assistant by turns, the user first and last, every call
//! answered in the turn right after it, and answers before anything else.
//!
//! A turn is a list of pieces, one a neutral message, each written once and for ever; only which pieces make a turn depends on
//! the neighbours. What the conversation lacks is filled in: a call nobody answered gets an answer that says so, an answer to
//! no call is left out.

use std::sync::Arc;

use agent_protocol::{ContentBlock, ModelMessage, Role, ToolCallId};

use super::message::MessageWriter;
use crate::json::ObjectWriter;

/// Stands where the conversation would begin with the assistant.
const BEGINNING: &str = r#"{"type":"text","text":"[The beginning of the conversation is left out.]"}"#;
/// Stands where it would end with the assistant, which newer models refuse.
const GO_ON: &str = r#"{"type":"text","text":"Go on."}"#;
/// What a call is told that has no result.
const NO_RESULT: &str = "[error] There is no result of this call.";
/// Key in a message's metadata: it is no history and will not be in the next request.
const VOLATILE: &str = "volatile";

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
}

/// Blocks of one message, as JSON.
#[derive(Debug)]
struct Piece<'a> {
    form: Arc<str>,
    kind: Kind<'a>,
}

/// What a piece is to its neighbours.
#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    /// The user's words, or core's.
    Said,
    /// The same, and not in the next request any more.
    Volatile,
    /// An answer to a call.
    Result,
    /// The assistant's words.
    Reply(&'a ModelMessage),
}

#[derive(Debug)]
struct Turn<'a> {
    speaker: Speaker,
    pieces: Vec<Piece<'a>>,
}

/// The turns of a request.
#[derive(Debug, Default)]
pub(super) struct Turns<'a>(Vec<Turn<'a>>);

impl<'a> Turns<'a> {
    /// The turns of these messages. `key` is that of the messages' forms.
    pub(super) fn new(messages: &'a [Arc<ModelMessage>], writer: &MessageWriter<'_>, key: u64) -> Self {
        let form = |message: &ModelMessage| message.wire.get_or_make(key, || writer.form(message));
        let mut turns = Self::default();
        let mut rest = messages;
        while let Some(first) = rest.first() {
            let mut calls = Vec::new();
            if first.role == Role::Assistant {
                calls.extend(ids(first));
                turns.add(form(first), Kind::Reply(first));
                rest = &rest[1..];
            }
            let next = rest.iter().position(|message| message.role == Role::Assistant).unwrap_or(rest.len());
            let (between, later) = rest.split_at(next);
            turns.add_results(calls, between, form);
            for message in between.iter().filter(|message| message.role != Role::Tool) {
                turns.add(form(message), if is_volatile(message) { Kind::Volatile } else { Kind::Said });
            }
            rest = later;
        }
        turns.complete();
        turns
    }

    fn add(&mut self, form: Arc<str>, kind: Kind<'a>) {
        if form.is_empty() {
            return;
        }
        let speaker = if matches!(kind, Kind::Reply(_)) { Speaker::Assistant } else { Speaker::User };
        let piece = Piece { form, kind };
        match self.0.last_mut() {
            Some(turn) if turn.speaker == speaker => turn.pieces.push(piece),
            _ => self.0.push(Turn { speaker, pieces: vec![piece] }),
        }
    }

    /// The results of these calls, as they came, each once; then those that never came.
    fn add_results(
        &mut self,
        mut open: Vec<&ToolCallId>,
        between: &[Arc<ModelMessage>],
        form: impl Fn(&ModelMessage) -> Arc<str>,
    ) {
        for message in between.iter().filter(|message| message.role == Role::Tool) {
            let answered = answered(message).and_then(|id| open.iter().position(|open| *open == id));
            if let Some(at) = answered {
                open.remove(at);
                self.add(form(message), Kind::Result);
            }
        }
        for id in open {
            self.add(no_result(id).into(), Kind::Result);
        }
    }

    fn complete(&mut self) {
        if self.0.first().is_some_and(|turn| turn.speaker == Speaker::Assistant) {
            let pieces = vec![Piece { form: BEGINNING.into(), kind: Kind::Said }];
            self.0.insert(0, Turn { speaker: Speaker::User, pieces });
        }
        if self.0.last().is_none_or(|turn| turn.speaker == Speaker::Assistant) {
            self.add(GO_ON.into(), Kind::Volatile);
        }
    }

    /// Whether the calls that are being answered were made without a thought before them.
    pub(super) fn are_thoughtless(&self, writer: &MessageWriter<'_>) -> bool {
        let is_question = |turn: &Turn<'_>| {
            let has_results = turn.pieces.iter().any(|piece| matches!(piece.kind, Kind::Result));
            turn.speaker == Speaker::User && !has_results
        };
        let begin = self.0.iter().rposition(is_question).map_or(0, |at| at + 1);
        let Some(first) = self.0[begin..].iter().find(|turn| turn.speaker == Speaker::Assistant) else { return false };
        let mut replies = first.pieces.iter().filter_map(|piece| match piece.kind {
            Kind::Reply(message) => Some(message),
            _ => None,
        });
        let Some(beginning) = replies.next() else { return false };
        let calls = |message: &ModelMessage| ids(message).next().is_some();
        (calls(beginning) || replies.any(calls)) && !writer.begins_with_thought(beginning)
    }

    /// Room for all of them.
    pub(super) fn room(&self) -> usize {
        let pieces = |turn: &Turn<'_>| turn.pieces.iter().map(|piece| piece.form.len() + 1).sum::<usize>();
        self.0.iter().map(|turn| pieces(turn) + 40).sum::<usize>() + 64
    }

    /// Appends the list of messages, a mark inside the last block that stays of each of the last two user messages: of the last,
    /// which the next request goes on from, and of the one the request before ended with. The API looks back from a mark for no
    /// more than twenty blocks, and a reply with many calls adds more than that.
    pub(super) fn write(&self, mark: &str, out: &mut String) {
        let marked: Vec<(usize, usize)> = self.markable().take(2).collect();
        out.push('[');
        for (at, turn) in self.0.iter().enumerate() {
            out.push_str(if at > 0 { ",{\"role\":\"" } else { "{\"role\":\"" });
            out.push_str(match turn.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            });
            out.push_str("\",\"content\":[");
            for (place, piece) in turn.pieces.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&piece.form);
                if marked.contains(&(at, place)) {
                    insert_mark(mark, out);
                }
            }
            out.push_str("]}");
        }
        out.push(']');
    }

    /// Where a mark may go, the last place first. A user's blocks only: a mark on a thought is refused.
    fn markable(&self) -> impl Iterator<Item = (usize, usize)> {
        let stays = |piece: &Piece<'_>| !matches!(piece.kind, Kind::Volatile);
        let last = move |turn: &Turn<'_>| turn.pieces.iter().rposition(stays);
        let turns = self.0.iter().enumerate().rev().filter(|(_, turn)| turn.speaker == Speaker::User);
        turns.filter_map(move |(at, turn)| last(turn).map(|place| (at, place)))
    }
}

/// Makes the mark the last field of the block that ends here.
pub(super) fn insert_mark(mark: &str, out: &mut String) {
    if out.pop().is_some() {
        out.push_str(mark);
        out.push('}');
    }
}

/// The ids of a message's calls.
fn ids(message: &ModelMessage) -> impl Iterator<Item = &ToolCallId> {
    message.content.iter().filter_map(ContentBlock::as_tool_call).map(|call| &call.tool_call_id)
}

/// The call a tool message answers; it holds exactly one result.
fn answered(message: &ModelMessage) -> Option<&ToolCallId> {
    message.content.iter().find_map(|block| match block {
        ContentBlock::ToolResult(result) => Some(&result.tool_call_id),
        _ => None,
    })
}

fn is_volatile(message: &ModelMessage) -> bool {
    message.metadata.get(VOLATILE).is_some_and(|volatile| *volatile == true)
}

fn no_result(id: &ToolCallId) -> String {
    let mut form = String::new();
    let mut object = ObjectWriter::open(&mut form);
    object.string("type", "tool_result");
    object.string("tool_use_id", id.as_str());
    object.string("content", NO_RESULT);
    object.boolean("is_error", true);
    object.close();
    form
}
