//! The reply as far as it has come.

use std::borrow::Cow;
use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ModelEvent, ModelMessage, ModelRequest, Object, Reply, StopKind, StopReason, Usage,
};

use super::calls::{CallPiece, CallSlots};
use super::{ids, stop};
use crate::BrokenStream;
use crate::names::NameTable;

/// What a reply answers.
#[derive(Debug, Clone)]
pub(crate) struct About {
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
    pub(crate) usage: Usage,
}

#[derive(Debug)]
enum Segment {
    Text(String),
    Call(usize),
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
            usage: Usage::default(),
        }
    }

    /// The server names itself; the first name counts.
    pub(crate) fn set_model(&mut self, model: Option<&str>) {
        if let (None, Some(model)) = (&self.model, model) {
            self.model = Some(model.to_owned());
        }
    }

    /// Whether anything of the reply has come. From here on the adapter does not ask again (PRV-7).
    pub(crate) fn has_content(&self) -> bool {
        self.started
    }

    pub(crate) fn text(&mut self, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        if text.is_empty() {
            return Ok(());
        }
        self.grow(text.len(), out)?;
        match self.segments.last_mut() {
            Some(Segment::Text(whole)) => whole.push_str(&text),
            _ => self.segments.push(Segment::Text(text.clone().into_owned())),
        }
        out.push(ModelEvent::TextDelta { text: text.into_owned() });
        Ok(())
    }

    pub(crate) fn reasoning(&mut self, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        if text.is_empty() {
            return Ok(());
        }
        self.grow(text.len(), out)?;
        self.reasoning.push_str(&text);
        out.push(ModelEvent::ReasoningDelta { text: text.into_owned() });
        Ok(())
    }

    pub(crate) fn call(&mut self, piece: CallPiece<'_>, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        self.grow(piece.arguments.len() + piece.name.map_or(0, str::len), out)?;
        let (at, new) = self.calls.add(piece, &self.about.names, out)?;
        if new {
            self.segments.push(Segment::Call(at));
        }
        Ok(())
    }

    /// The whole reply, for the server's word of why it ended.
    pub(crate) fn finish(mut self, raw: Option<String>, out: &mut Vec<ModelEvent>) -> Reply {
        self.start(out);
        let has_calls = !self.calls.is_empty();
        let mut stop = stop::reason(raw, has_calls);
        let request = self.about.request.clone();
        let cut_at_limit = self.usage.output_tokens.is_some_and(|n| n >= request.max_output_tokens);
        let cut = stop.kind == StopKind::MaxTokens || (stop.kind == StopKind::ToolUse && cut_at_limit);
        let assign = |provider_ids: &[Option<String>]| ids::assign(provider_ids, &request);
        let mut calls = std::mem::take(&mut self.calls).finish(cut, &self.about.names, assign, out);
        // A server may say "tool calls" although its limit cut the last one.
        if cut && calls.iter().rev().flatten().next().is_some_and(|call| call.arguments_error().is_some()) {
            stop.kind = StopKind::MaxTokens;
        }
        let content = std::mem::take(&mut self.segments).into_iter().filter_map(|segment| match segment {
            Segment::Text(text) => Some(ContentBlock::text(text)),
            Segment::Call(at) => calls.get_mut(at).and_then(Option::take).map(ContentBlock::ToolCall),
        });
        let content: Vec<ContentBlock> = content.collect();
        if stop.kind == StopKind::ToolUse && !content.iter().any(|block| block.as_tool_call().is_some()) {
            stop.kind = StopKind::EndTurn;
        }
        self.into_reply(content, stop)
    }

    /// What had arrived when the stream failed. Calls are left out: none of them can be known to be whole.
    pub(crate) fn partial(mut self) -> Option<Reply> {
        if !self.started {
            return None;
        }
        let content = std::mem::take(&mut self.segments)
            .into_iter()
            .filter_map(|segment| match segment {
                Segment::Text(text) => Some(ContentBlock::text(text)),
                Segment::Call(_) => None,
            })
            .collect();
        let unfinished: Vec<&str> =
            self.calls.names().map(|name| self.about.names.canonical(name).unwrap_or(name)).collect();
        if !unfinished.is_empty() {
            let unfinished = unfinished.into();
            self.about.metadata.insert("unfinished_calls".to_owned(), unfinished);
        }
        Some(self.into_reply(content, StopReason::new(StopKind::Error)))
    }

    fn into_reply(self, content: Vec<ContentBlock>, stop: StopReason) -> Reply {
        let mut metadata = self.about.metadata;
        if !self.reasoning.is_empty() {
            metadata.insert(ModelMessage::REASONING.to_owned(), self.reasoning.into());
        }
        Reply { content, usage: self.usage, stop, metadata }
    }

    fn grow(&mut self, bytes: usize, out: &mut Vec<ModelEvent>) -> Result<(), BrokenStream> {
        self.bytes += bytes;
        if self.bytes > self.about.limit {
            return Err(BrokenStream::ReplyTooLong { limit: self.about.limit });
        }
        self.start(out);
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
