//! The reply as far as it has come.

use std::borrow::Cow;
use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ModelEvent, ModelMessage, ModelRequest, Object, Reply, StopKind, StopReason, ToolCall, Usage,
    bounded_name,
};
use serde_json::Value;

use super::calls::CallSlots;
use super::halves::as_escapes;
use super::inline::{InlineThinking, Said};
use super::piece::CallPiece;
use super::speech::Speech;
use super::{ids, kept, stop};
use crate::BrokenStream;
use crate::names::NameTable;

/// What a reply answers.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// Who answers.
    pub(crate) provider: &'static str,
    pub(crate) request: Arc<ModelRequest>,
    pub(crate) names: Arc<NameTable>,
    /// Request id, attempts: goes to the reply's metadata.
    pub(crate) metadata: Object,
    /// Longest reply, in bytes.
    pub(crate) limit: usize,
}

/// Collects text, reasoning and calls, and tells of them as they come.
#[derive(Debug)]
pub(crate) struct ReplyBuilder {
    about: About,
    /// The model that answers, in the server's words.
    model: Option<String>,
    started: bool,
    segments: Vec<Segment>,
    reasoning: String,
    calls: CallSlots,
    bytes: usize,
    speech: Speech,
    /// What comes now was mended: it holds marks for halves of characters.
    marked: bool,
    mended: u64,
    /// The server the calls come from, where calls carry something that only it understands.
    origin: Option<Arc<str>>,
    pub(crate) usage: Usage,
}

#[derive(Debug)]
enum Segment {
    Text(String),
    Call(usize),
    /// A block that goes back to its API as it came.
    Kept(Object),
}

impl ReplyBuilder {
    pub(crate) fn new(about: About) -> Self {
        Self {
            about,
            model: None,
            started: false,
            segments: Vec::new(),
            reasoning: String::new(),
            calls: CallSlots::default(),
            bytes: 0,
            speech: Speech::default(),
            marked: false,
            mended: 0,
            origin: None,
            usage: Usage::default(),
        }
    }

    /// Looks for thoughts inside the text.
    pub(crate) fn with_inline_thinking(mut self, thinking: InlineThinking) -> Self {
        self.speech = Speech::new(thinking);
        self
    }

    /// Names the server in calls that carry something only it understands.
    pub(crate) fn with_origin(mut self, origin: &Arc<str>) -> Self {
        self.origin = Some(origin.clone());
        self
    }

    /// The request this answers.
    pub(crate) fn request(&self) -> &ModelRequest {
        &self.about.request
    }

    /// What comes now had to be mended to be read, or no longer. How often that was is told with the reply.
    pub(crate) fn set_mended(&mut self, mended: bool) {
        self.mended += u64::from(mended);
        self.marked = mended;
    }

    /// The server names itself; the first name counts.
    pub(crate) fn set_model(&mut self, model: Option<&str>) {
        if let (None, Some(model)) = (&self.model, model) {
            self.model = Some(bounded_name(model).into_owned());
        }
    }

    /// Tells something about the reply, with it.
    pub(crate) fn note(&mut self, key: &str, value: Value) {
        self.about.metadata.insert(key.to_owned(), value);
    }

    /// Whether anything of the reply has come. From here on the adapter does not ask again (PRV-7).
    pub(crate) fn has_content(&self) -> bool {
        self.started
    }

    /// Bytes of the reply so far, held back or told.
    pub(crate) fn size(&self) -> usize {
        self.bytes
    }

    /// Whether something has come that is not told yet, since what follows decides what it is.
    pub(crate) fn holds(&self) -> bool {
        self.speech.holds()
    }

    /// More text. The beginning of a reply may hold thoughts.
    pub(crate) fn text(&mut self, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        self.count(text.len())?;
        if self.speech.is_plain() && !self.marked {
            self.tell_text(text, out);
        } else {
            let said = self.speech.text(text, self.marked);
            self.tell_all(said, out);
        }
        Ok(())
    }

    /// Tells what was held back: nothing of its kind follows.
    fn settle(&mut self, out: &mut Vec<ModelEvent>) {
        let said = self.speech.settle();
        self.tell_all(said, out);
    }

    fn tell_all(&mut self, said: Vec<Said>, out: &mut Vec<ModelEvent>) {
        said.into_iter().for_each(|said| self.tell(said, out));
    }

    fn tell(&mut self, said: Said, out: &mut Vec<ModelEvent>) {
        match said {
            Said::Text(text) => self.tell_text(text.into(), out),
            Said::Thought(text) => self.tell_reasoning(text.into(), out),
        }
    }

    fn tell_text(&mut self, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            let at = self.open_text(false);
            self.tell_text_at(at, text, out);
        }
    }

    fn tell_text_at(&mut self, at: usize, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) {
        self.start(out);
        if let Some(Segment::Text(whole)) = self.segments.get_mut(at) {
            whole.push_str(&text);
        }
        out.push(ModelEvent::TextDelta { text: text.into_owned() });
    }

    fn tell_reasoning(&mut self, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.start(out);
            self.reasoning.push_str(&text);
            out.push(ModelEvent::ReasoningDelta { text: text.into_owned() });
        }
    }

    /// The place of a text that begins now, for protocols in which several may be open at once. Text that follows text is one
    /// text, unless it must be kept `apart` because the other has not ended.
    pub(crate) fn open_text(&mut self, apart: bool) -> usize {
        if apart || !matches!(self.segments.last(), Some(Segment::Text(_))) {
            self.segments.push(Segment::Text(String::new()));
        }
        self.segments.len() - 1
    }

    /// More of the text at a place.
    pub(crate) fn text_at(
        &mut self,
        at: usize,
        text: Cow<'_, str>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), BrokenStream> {
        self.count(text.len())?;
        let text = self.speech.whole_text(text, self.marked);
        if !text.is_empty() {
            self.tell_text_at(at, text, out);
        }
        Ok(())
    }

    /// Keeps a block of `bytes` bytes at its place among text and calls, to be sent back as it came.
    pub(crate) fn keep(
        &mut self,
        block: Object,
        bytes: usize,
        out: &mut Vec<ModelEvent>,
    ) -> Result<usize, BrokenStream> {
        self.grow(bytes, out)?;
        self.segments.push(Segment::Kept(block));
        Ok(self.segments.len() - 1)
    }

    /// More of a text field of the kept block at a place.
    pub(crate) fn extend_kept(
        &mut self,
        at: usize,
        field: &str,
        text: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), BrokenStream> {
        self.grow(text.len(), out)?;
        if let Some(block) = self.kept(at) {
            match block.get_mut(field) {
                Some(Value::String(whole)) => whole.push_str(text),
                _ => drop(block.insert(field.to_owned(), text.into())),
            }
        }
        Ok(())
    }

    /// The kept block at a place.
    pub(crate) fn kept(&mut self, at: usize) -> Option<&mut Object> {
        match self.segments.get_mut(at) {
            Some(Segment::Kept(block)) => Some(block),
            _ => None,
        }
    }

    pub(crate) fn reasoning(&mut self, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        // A server that keeps thoughts apart writes none into the text.
        let said = self.speech.end_inline();
        self.tell_all(said, out);
        let text = self.speech.whole_reasoning(text, self.marked);
        self.tell_reasoning(text, out);
        Ok(())
    }

    pub(crate) fn call(&mut self, mut piece: CallPiece<'_>, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        self.grow(piece.arguments.len() + piece.name.map_or(0, str::len), out)?;
        self.settle(out);
        if self.marked {
            piece.arguments = as_escapes(&piece.arguments).into();
        }
        let (at, new) = self.calls.add(piece, &self.about.names, out)?;
        if new {
            self.segments.push(Segment::Call(at));
        }
        Ok(())
    }

    /// The server's next message begins.
    pub(crate) fn next_message(&mut self) {
        self.calls.next_message();
    }

    /// What the server wants back with a call, told after it.
    pub(crate) fn last_call_extra(&mut self, extra: Value) {
        self.calls.last_extra(extra);
    }

    /// The whole reply, for the server's word of why it ended.
    pub(crate) fn finish(mut self, raw: Option<String>, out: &mut Vec<ModelEvent>) -> Reply {
        self.start(out);
        if self.speech.is_thinking() && !self.reasoning.is_empty() {
            self.about.metadata.insert(Reply::UNCLOSED_THINKING.to_owned(), true.into());
        }
        self.settle(out);
        let has_calls = !self.calls.is_empty();
        let mut stop = stop::reason(raw, has_calls);
        let request = self.about.request.clone();
        let cut_at_limit = self.usage.output_tokens.is_some_and(|n| n >= request.max_output_tokens);
        let cut = stop.kind == StopKind::MaxTokens || (stop.kind == StopKind::ToolUse && cut_at_limit);
        let assign = |provider_ids: &[Option<String>]| ids::assign(provider_ids, &request);
        let mut calls = std::mem::take(&mut self.calls).finish(cut, &self.about.names, assign, out);
        if let Some(origin) = &self.origin {
            let marked = calls.iter_mut().flatten().filter(|call| call.metadata.contains_key(CallPiece::EXTRA));
            marked.for_each(|call| drop(call.metadata.insert(CallPiece::ORIGIN.to_owned(), (**origin).into())));
        }
        // A server may say "tool calls" although its limit cut the last one.
        if cut && calls.iter().rev().flatten().next().is_some_and(|call| call.arguments_error().is_some()) {
            stop.kind = StopKind::MaxTokens;
        }
        let content = self.take_content(&mut calls);
        if stop.kind == StopKind::ToolUse && !content.iter().any(|block| block.as_tool_call().is_some()) {
            stop.kind = StopKind::EndTurn;
        }
        self.into_reply(content, stop)
    }

    /// What had arrived when the stream failed. Calls are left out: none of them can be known to be whole.
    pub(crate) fn partial(mut self) -> Option<Reply> {
        self.settle(&mut Vec::new());
        if !self.started {
            return None;
        }
        let content = self.take_content(&mut []);
        let unfinished: Vec<&str> =
            self.calls.names().map(|name| self.about.names.canonical(name).unwrap_or(name)).collect();
        if !unfinished.is_empty() {
            let unfinished = unfinished.into();
            self.about.metadata.insert("unfinished_calls".to_owned(), unfinished);
        }
        Some(self.into_reply(content, StopReason::new(StopKind::Error)))
    }

    /// Texts and calls in their order. What is kept besides them goes to the metadata, with its places.
    fn take_content(&mut self, calls: &mut [Option<ToolCall>]) -> Vec<ContentBlock> {
        let (mut content, mut blocks) = (Vec::new(), Vec::new());
        for segment in std::mem::take(&mut self.segments) {
            match segment {
                Segment::Text(text) if text.is_empty() => {}
                Segment::Text(text) => content.push(ContentBlock::text(text)),
                Segment::Call(at) => {
                    content.extend(calls.get_mut(at).and_then(Option::take).map(ContentBlock::ToolCall));
                }
                Segment::Kept(block) => blocks.push((content.len(), block)),
            }
        }
        if !blocks.is_empty() {
            let value = kept::to_value(self.about.provider, &self.about.request.model, &blocks);
            self.about.metadata.insert(ModelMessage::REASONING.to_owned(), value);
        }
        content
    }

    fn into_reply(self, content: Vec<ContentBlock>, stop: StopReason) -> Reply {
        let mut metadata = self.about.metadata;
        if !self.reasoning.is_empty() {
            metadata.insert(ModelMessage::REASONING.to_owned(), self.reasoning.into());
        }
        if self.mended > 0 {
            metadata.insert("mended_events".to_owned(), self.mended.into());
        }
        Reply { content, usage: self.usage, stop, metadata }
    }

    /// Counts bytes of the reply, which begins with the first.
    pub(crate) fn grow(&mut self, bytes: usize, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        self.count(bytes)?;
        self.start(out);
        Ok(())
    }

    /// Counts bytes that cost memory and are no content.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), BrokenStream> {
        self.bytes += bytes;
        if self.bytes > self.about.limit {
            return Err(BrokenStream::ReplyTooLong { limit: self.about.limit });
        }
        Ok(())
    }

    /// Told with the first content, so that an attempt that brings none leaves no trace of having begun.
    fn start(&mut self, out: &mut Vec<ModelEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            let model = self.model.clone().unwrap_or_else(|| self.about.request.model.clone());
            out.push(ModelEvent::Started { model, metadata: self.about.metadata.clone() });
        }
    }
}
