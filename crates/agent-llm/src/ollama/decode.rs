//! Reads Ollama's answer: one object a line, ended by the one that says `done`.

use agent_protocol::{ModelEvent, Object, Reply, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::BrokenStream;
use crate::dialect::{Decoder, Flow, StreamFault, StreamState, Unfinished, malformed};
use crate::fault::ServerWords;
use crate::framing::{LineEnds, Lines};
use crate::reply::mend::{each, inner, mend, numbers, switch, texts};
use crate::reply::{CallPiece, ReplyBuilder, Text, argument_text};

/// How many generated tokens without any content are too many to be an honest empty answer.
const SUSPICIOUS_TOKENS: u64 = 8;

/// One line. Unknown fields are passed over: the format grows (DEC-5).
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
    /// Boxed: on its way up through the deserialiser it would be copied at every level.
    #[serde(borrow, default)]
    message: Option<Box<Message<'a>>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    done: bool,
    #[serde(borrow, default)]
    done_reason: Option<Text<'a>>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
    eval_count: Option<u64>,
    #[serde(default)]
    total_duration: Option<u64>,
    #[serde(default)]
    load_duration: Option<u64>,
    #[serde(default)]
    prompt_eval_duration: Option<u64>,
    #[serde(default)]
    eval_duration: Option<u64>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// The decoder of one answer.
pub(super) struct OllamaDecoder {
    lines: Lines,
    state: State,
}

struct State {
    reply: ReplyBuilder,
    context_window: u64,
    done: bool,
    reason: Option<String>,
    /// A line had a field of the protocol.
    is_ours: bool,
    /// The first line that had none: a server of another kind may have answered.
    foreign: Option<String>,
}

impl OllamaDecoder {
    pub(super) fn new(reply: ReplyBuilder, context_window: u64, event_bytes: usize) -> Self {
        let state = State { reply, context_window, done: false, reason: None, is_ours: false, foreign: None };
        Self { lines: Lines::new(LineEnds::Lf, event_bytes), state }
    }
}

impl Decoder for OllamaDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<Flow, StreamFault> {
        let state = &mut self.state;
        let pushed = self.lines.push(bytes, |line| state.line(line, false, out));
        if state.done {
            // What comes in the same packet as the last line is no part of the reply, however long it is.
            return Ok(Flow::Done);
        }
        pushed.map(|()| Flow::More)
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        let state = &mut self.state;
        self.lines.finish(|line| state.line(line, true, out))
    }

    fn state(&self) -> StreamState {
        if self.state.reply.has_content() { StreamState::Content } else { StreamState::Waiting }
    }

    fn has_content(&self) -> bool {
        self.state.reply.has_content()
    }

    fn finish(self: Box<Self>, out: &mut Vec<ModelEvent>) -> Result<Reply, Box<Unfinished>> {
        let state = self.state;
        match state.fault() {
            Some(fault) => Err(Box::new(Unfinished { fault, partial: state.reply.partial() })),
            None => Ok(state.reply.finish(state.reason, out)),
        }
    }

    fn partial(self: Box<Self>) -> Option<Reply> {
        self.state.reply.partial()
    }
}

impl State {
    fn line(&mut self, line: &str, at_end: bool, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        if self.done || line.trim().is_empty() {
            return Ok(());
        }
        match serde_json::from_str(line) {
            Ok(read) => self.known(read, line, out),
            Err(error) => match mend(line, tidy) {
                Some(mended) => {
                    let read = serde_json::from_str(&mended).map_err(|error| malformed(line, &error))?;
                    self.reply.set_mended(true);
                    let result = self.known(read, line, out);
                    self.reply.set_mended(false);
                    result
                }
                // What the connection's end cut off is no fault of the server's JSON.
                None if at_end => Err(BrokenStream::Truncated.into()),
                None => Err(malformed(line, &error)),
            },
        }
    }

    /// Reads a line, and keeps one that says nothing of this protocol.
    fn known(&mut self, read: Line<'_>, line: &str, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        self.is_ours |= read.message.is_some() || read.model.is_some() || read.done;
        if !self.is_ours && self.foreign.is_none() {
            self.foreign = Some(line.trim().to_owned());
        }
        self.read(read, out)
    }

    fn read(&mut self, line: Line<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        // After its first output the server can report an error only here; the status was 200.
        if let Some(error) = line.error {
            return Err(StreamFault::Said(Box::new(ServerWords::from_text(&format!("{{\"error\":{error}}}")))));
        }
        self.reply.set_model(Text::filled(&line.model));
        self.done = line.done;
        if line.done {
            self.reason = Text::filled(&line.done_reason).map(str::to_owned);
            self.reply.usage = usage(&line);
        }
        line.message.map_or(Ok(()), |message| self.message(*message, out))
    }

    fn message(&mut self, message: Message<'_>, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault> {
        if let Some(thinking) = message.thinking {
            self.reply.reasoning(thinking.0, out)?;
        }
        if let Some(content) = message.content {
            self.reply.text(content.0, out)?;
        }
        self.reply.next_message();
        // Calls stand before the last line or on it, whole; their index says nothing.
        for call in message.tool_calls.into_iter().flatten() {
            let Some(function) = call.function else { continue };
            let piece = CallPiece {
                whole: true,
                id: Text::filled(&call.id),
                name: Text::filled(&function.name),
                arguments: function.arguments.map(argument_text).unwrap_or_default(),
                ..CallPiece::default()
            };
            self.reply.call(piece, out)?;
        }
        Ok(())
    }

    /// Why the lines are no answer, if they are none.
    fn fault(&self) -> Option<StreamFault> {
        if !self.done {
            if let Some(line) = self.foreign.as_deref().filter(|_| !self.is_ours) {
                return Some(StreamFault::Said(Box::new(ServerWords::from_text(line))));
            }
            return Some(BrokenStream::Truncated.into());
        }
        if self.reply.has_content() || self.reply.holds() {
            return None;
        }
        let (prompt, window) = (self.reply.usage.input_tokens.unwrap_or(0), self.context_window);
        let tokens = self.reply.usage.output_tokens.unwrap_or(0);
        match self.reason.as_deref() {
            Some(reason @ ("load" | "unload")) => Some(BrokenStream::NoAnswer { reason: reason.to_owned() }.into()),
            Some("length") if prompt >= window / 100 * 99 => Some(StreamFault::PromptFillsWindow { prompt, window }),
            _ if tokens >= SUSPICIOUS_TOKENS => Some(BrokenStream::NothingDelivered { tokens }.into()),
            _ => None,
        }
    }
}

/// The counts of the last line. Go leaves out what is zero, and older servers count nothing of a cached prompt, so an
/// absent count is unknown (TYP-8).
fn usage(line: &Line<'_>) -> Usage {
    let mut raw = Object::new();
    for (key, count) in [
        ("prompt_eval_count", line.prompt_eval_count),
        ("eval_count", line.eval_count),
        ("total_duration", line.total_duration),
        ("load_duration", line.load_duration),
        ("prompt_eval_duration", line.prompt_eval_duration),
        ("eval_duration", line.eval_duration),
    ] {
        if let Some(count) = count {
            raw.insert(key.to_owned(), count.into());
        }
    }
    Usage {
        input_tokens: line.prompt_eval_count,
        output_tokens: line.eval_count,
        total_tokens: line.prompt_eval_count.zip(line.eval_count).map(|(input, output)| input.saturating_add(output)),
        raw,
        ..Usage::default()
    }
}

/// Puts right, or leaves out, what a server writes in types of its own.
fn tidy(line: &mut Object) {
    texts(line, &["model", "done_reason"]);
    switch(line, "done");
    numbers(line, &["prompt_eval_count", "eval_count", "total_duration", "load_duration"]);
    numbers(line, &["prompt_eval_duration", "eval_duration"]);
    let Some(message) = inner(line, "message") else { return };
    texts(message, &["content", "thinking"]);
    for call in each(message, "tool_calls") {
        texts(call, &["id"]);
        if let Some(function) = inner(call, "function") {
            texts(function, &["name"]);
        }
    }
}
