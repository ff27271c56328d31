//! What stands in a box, cut to what fits into it.
//!
//! Which font a viewer has is not known. Widths are those of DejaVu Sans, which like Verdana is among the widest there are.

use agent_core::archive::StepView;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use crate::lines::one_line;

/// How wide a box is, and how far from its border its text begins.
pub(super) const WIDTH: f64 = 224.0;
pub(super) const PADDING: f64 = 14.0;
/// Sizes of letters.
pub(super) const ID: f64 = 12.5;
pub(super) const TITLE: f64 = 12.0;
pub(super) const SMALL: f64 = 10.5;
/// The height of a line, and of the line with the state.
pub(super) const LINE: f64 = 16.0;
pub(super) const HEAD: f64 = 24.0;
/// A title has at most so many lines.
const TITLE_LINES: usize = 3;
/// A letter of a font in which all are as wide, in its size.
const MONO: f64 = 0.61;

/// What stands in the box of a step, line by line.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) id: String,
    pub(super) title: Vec<String>,
    pub(super) holder: Option<String>,
}

impl Label {
    pub(super) fn of(step: &StepView) -> Self {
        let room = WIDTH - 2.0 * PADDING;
        let mono = |size: f64| (room / (MONO * size)) as usize;
        let holder = step.claimed_by_agent_id.as_ref().filter(|_| step.status.is_held());
        Self {
            id: shortened(step.step_id.as_str(), mono(ID)),
            title: wrapped(&one_line(&step.title), TITLE, room, TITLE_LINES),
            holder: holder.map(|agent| shortened(&format!("held by {agent}"), mono(SMALL))),
        }
    }

    pub(super) fn height(&self) -> f64 {
        let lines = 1 + self.title.len() + usize::from(self.holder.is_some());
        HEAD + LINE * lines as f64 + 10.0
    }
}

/// An id with an ellipsis in its middle: its end tells it apart as well as its beginning. Ids are ASCII.
fn shortened(id: &str, most: usize) -> String {
    if id.len() <= most {
        return id.to_owned();
    }
    let (head, tail) = ((most - 1).div_ceil(2), (most - 1) / 2);
    format!("{}…{}", &id[..head], &id[id.len() - tail..])
}

/// Lines that are no wider than this; where there are more than so many, the last one ends in an ellipsis.
pub(super) fn wrapped(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let fits = |text: &str| wide(text, size) <= room;
    let mut rest: std::collections::VecDeque<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    while let Some(word) = rest.pop_front() {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if fits(&longer) {
            line = longer;
        } else if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            rest.push_front(word);
        } else {
            // A word that is longer than a line.
            let mut end = 0;
            for (at, cluster) in word.grapheme_indices(true) {
                if at > 0 && !fits(&word[..at + cluster.len()]) {
                    break;
                }
                end = at + cluster.len();
            }
            lines.push(word[..end].to_owned());
            if end < word.len() {
                rest.push_front(&word[end..]);
            }
        }
        if lines.len() > most {
            break;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && !fits(&format!("{last}…")) {
                let end = last.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
                last.truncate(end);
            }
            last.push('…');
        }
    }
    lines
}

/// How wide a text is at most.
pub(super) fn wide(text: &str, size: f64) -> f64 {
    text.chars().map(of_char).sum::<f64>() * size
}

/// How wide a letter is, in its size.
fn of_char(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' | '|' => 0.34,
        ' ' | '.' | ',' | ':' | ';' | '!' | '/' | '\\' | '(' | ')' | '[' | ']' | 'I' | 'f' | 't' | '-' | '`' => 0.4,
        'r' => 0.42,
        'm' | '%' | '@' | 'W' => 1.0,
        'w' | '&' | '+' | '<' | '=' | '>' | '~' | '^' | '#' => 0.84,
        'M' => 0.87,
        'A'..='Z' => 0.79,
        _ if c.is_ascii() => 0.64,
        _ => match c.width().unwrap_or(1) {
            0 => 0.0,
            1 => 1.0,
            _ => 1.4,
        },
    }
}

/// Text as XML holds it. What XML cannot hold is not shown.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}
