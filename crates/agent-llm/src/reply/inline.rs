//! Reasoning that comes inside the text, between tags at its beginning: what servers do that run a thinking model without a
//! parser for its thoughts (PRV-11). Only the beginning of a reply counts, so that an answer *about* such tags stays what it is.

/// What opens a thought.
const OPENS: [&str; 2] = ["<think>", "<thinking>"];
/// What ends it.
const CLOSES: [&str; 2] = ["</think>", "</thinking>"];
/// Most bytes of blanks before a thought: they are held back until it is clear that there is none.
const MAX_BLANKS: usize = 256;

/// Whether thoughts are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum InlineThinking {
    /// No.
    Off,
    /// Behind a tag that opens them.
    #[default]
    Opened,
    /// From the start: the template has opened them already, and only the end is said.
    Unopened,
}

/// Splits the pieces of a text into thoughts and text.
#[derive(Debug, Default)]
pub(super) struct Inline {
    place: Place,
    /// What may be the beginning of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// All is text.
    #[default]
    Text,
    /// Nothing but blanks and part of an opening tag has come.
    Beginning,
    /// Inside a thought.
    Thought,
    /// After a thought: blanks between it and the answer are nobody's.
    After,
}

/// A part of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Thought(String),
    Text(String),
}

impl Inline {
    pub(super) fn new(thinking: InlineThinking) -> Self {
        let place = match thinking {
            InlineThinking::Off => Place::Text,
            InlineThinking::Opened => Place::Beginning,
            InlineThinking::Unopened => Place::Thought,
        };
        Self { place, held: String::new() }
    }

    /// Whether text goes through as it comes.
    pub(super) fn is_off(&self) -> bool {
        self.place == Place::Text
    }

    /// Whether a thought has begun and not ended.
    pub(super) fn is_thinking(&self) -> bool {
        self.place == Place::Thought
    }

    /// Whether something is held back.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Said> {
        let text = std::mem::take(&mut self.held) + piece;
        let mut said = Vec::new();
        self.take(text, &mut said);
        said
    }

    fn take(&mut self, text: String, said: &mut Vec<Said>) {
        match self.place {
            Place::Text => said.push(Said::Text(text)),
            Place::Beginning => self.begin(text, said),
            Place::Thought => self.think(&text, said),
            Place::After => {
                let text = text.trim_start();
                if !text.is_empty() {
                    self.place = Place::Text;
                    said.push(Said::Text(text.to_owned()));
                }
            }
        }
    }

    fn begin(&mut self, text: String, said: &mut Vec<Said>) {
        let start = text.trim_start();
        if text.len() - start.len() > MAX_BLANKS {
            self.place = Place::Text;
            return said.push(Said::Text(text));
        }
        if let Some(rest) = OPENS.iter().find_map(|tag| start.strip_prefix(tag)) {
            self.place = Place::Thought;
            let rest = rest.to_owned();
            return self.take(rest, said);
        }
        if OPENS.iter().any(|tag| tag.starts_with(start)) {
            self.held = text;
        } else {
            self.place = Place::Text;
            said.push(Said::Text(text));
        }
    }

    fn think(&mut self, text: &str, said: &mut Vec<Said>) {
        let end = CLOSES.iter().filter_map(|tag| text.find(tag).map(|at| (at, tag.len()))).min();
        if let Some((at, length)) = end {
            push_thought(&text[..at], said);
            self.place = Place::After;
            return self.take(text[at + length..].to_owned(), said);
        }
        // The end of the text may be the beginning of the tag.
        let open = text.rfind('<').filter(|at| CLOSES.iter().any(|tag| tag.starts_with(&text[*at..])));
        let (thought, held) = text.split_at(open.unwrap_or(text.len()));
        push_thought(thought, said);
        held.clone_into(&mut self.held);
    }

    /// Nothing of the text follows, or something else comes between: what is held back is what it seemed to be so far.
    pub(super) fn settle(&mut self) -> Option<Said> {
        let held = std::mem::take(&mut self.held);
        let place = std::mem::take(&mut self.place);
        (!held.is_empty()).then(|| if place == Place::Thought { Said::Thought(held) } else { Said::Text(held) })
    }
}

fn push_thought(thought: &str, said: &mut Vec<Said>) {
    if !thought.is_empty() {
        said.push(Said::Thought(thought.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::properties;

    /// Thought and text, each joined.
    fn split(thinking: InlineThinking, pieces: &[&str]) -> (String, String) {
        let mut inline = Inline::new(thinking);
        let mut said: Vec<Said> = pieces.iter().flat_map(|piece| inline.push(piece)).collect();
        said.extend(inline.settle());
        let (mut thought, mut text) = (String::new(), String::new());
        for part in said {
            match part {
                Said::Thought(part) => thought.push_str(&part),
                Said::Text(part) => text.push_str(&part),
            }
        }
        (thought, text)
    }

    #[track_caller]
    fn check(thinking: InlineThinking, reply: &str, thought: &str, text: &str) {
        let expected = (thought.to_owned(), text.to_owned());
        assert_eq!(split(thinking, &[reply]), expected, "whole: {reply}");
        let mut buffer = [0; 4];
        let chars: Vec<String> = reply.chars().map(|c| c.encode_utf8(&mut buffer).to_owned()).collect();
        assert_eq!(split(thinking, &chars.iter().map(String::as_str).collect::<Vec<_>>()), expected, "in characters");
    }

    /// PRV-11: what stands between the tags at the beginning is reasoning; nothing else is.
    #[test]
    fn thoughts_at_the_beginning() {
        use InlineThinking::{Off, Opened, Unopened};
        check(Opened, "<think>hm</think>\n\nYes", "hm", "Yes");
        check(Opened, "\n <thinking>a < b</thinking>Yes </think>", "a < b", "Yes </think>");
        check(Opened, "<think></think>Yes", "", "Yes");
        check(Opened, "<think>hm", "hm", "");
        check(Opened, "<think>hm</thin", "hm</thin", "");
        check(Opened, "<thin", "", "<thin");
        check(Opened, "<table>", "", "<table>");
        check(Opened, " \n", "", " \n");
        let blanks = " ".repeat(MAX_BLANKS);
        check(Opened, &format!("{blanks}<think>hm</think>a"), "hm", "a");
        check(Opened, &format!("{blanks} <think>hm"), "", &format!("{blanks} <think>hm"));
        check(Opened, "a <think>b</think>", "", "a <think>b</think>");
        check(Opened, "```\n<think>b</think>", "", "```\n<think>b</think>");
        check(Opened, "Yes</think>", "", "Yes</think>");
        check(Unopened, "hm</think>\nYes", "hm", "Yes");
        check(Unopened, "hm", "hm", "");
        check(Off, "<think>hm</think>Yes", "", "<think>hm</think>Yes");
    }

    proptest! {
        #![proptest_config(properties())]

        /// Pieces do not matter, and no character is lost but the tags and the blanks after them.
        #[test]
        fn cuts_do_not_matter(
            thought in "[a-z<>/ ü]{0,12}", text in "[a-z<>/ ü]{0,12}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let reply = format!("<think>{thought}</think>{text}");
            let mut places: Vec<usize> =
                cuts.iter().map(|cut| reply.floor_char_boundary(cut.index(reply.len() + 1))).collect();
            places.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for to in places.into_iter().chain([reply.len()]) {
                pieces.push(&reply[from..to]);
                from = to;
            }
            prop_assert_eq!(split(InlineThinking::Opened, &pieces), split(InlineThinking::Opened, &[&reply]));
            prop_assert_eq!(split(InlineThinking::Off, &pieces), (String::new(), reply.clone()));
        }
    }
}
