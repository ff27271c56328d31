//! What a server says, before it is known what it is: text that may be a thought, and halves of characters.

use std::borrow::Cow;

use super::halves::Halves;
use super::inline::{Inline, InlineThinking, Said};

/// What is held back of text and reasoning.
#[derive(Debug, Default)]
pub(super) struct Speech {
    inline: Inline,
    text: Halves,
    reasoning: Halves,
}

impl Speech {
    pub(super) fn new(thinking: InlineThinking) -> Self {
        Self { inline: Inline::new(thinking), ..Self::default() }
    }

    /// Whether a thought has begun inside the text and not ended.
    pub(super) fn is_thinking(&self) -> bool {
        self.inline.is_thinking()
    }

    /// Whether text without marks goes through as it comes.
    pub(super) fn is_plain(&self) -> bool {
        self.inline.is_off() && !self.text.is_waiting()
    }

    /// Whether something is held back.
    pub(super) fn holds(&self) -> bool {
        self.inline.holds() || self.text.is_waiting() || self.reasoning.is_waiting()
    }

    /// More text, `marked` where it holds marks for halves of characters.
    pub(super) fn text(&mut self, text: Cow<'_, str>, marked: bool) -> Vec<Said> {
        let text = self.text.join(text, marked);
        if self.inline.is_off() { vec![Said::Text(text.into_owned())] } else { self.inline.push(&text) }
    }

    /// More text that cannot be a thought.
    pub(super) fn whole_text<'a>(&mut self, text: Cow<'a, str>, marked: bool) -> Cow<'a, str> {
        self.text.join(text, marked)
    }

    /// More reasoning.
    pub(super) fn whole_reasoning<'a>(&mut self, text: Cow<'a, str>, marked: bool) -> Cow<'a, str> {
        self.reasoning.join(text, marked)
    }

    /// No thoughts are looked for any more; what is held back of the text was none, or the end of one.
    pub(super) fn end_inline(&mut self) -> Vec<Said> {
        if self.inline.is_off() { Vec::new() } else { self.end_text() }
    }

    fn end_text(&mut self) -> Vec<Said> {
        let rest = self.text.rest();
        let mut said = if self.inline.is_off() { vec![Said::Text(rest.to_owned())] } else { self.inline.push(rest) };
        said.extend(self.inline.settle());
        said
    }

    /// What is held back, now that nothing of its kind follows.
    pub(super) fn settle(&mut self) -> Vec<Said> {
        if self.is_plain() && !self.reasoning.is_waiting() {
            return Vec::new();
        }
        let mut said = self.end_text();
        said.push(Said::Thought(self.reasoning.rest().to_owned()));
        said
    }
}
