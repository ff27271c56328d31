//! What a summary must look like before it is written (CMP-3, CMP-7).

use agent_protocol::{Reply, StopKind};

use crate::tokens::TokenCounter;

/// The sections of a summary, in their order (CMP-3).
pub const SECTIONS: [&str; 8] = [
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
    "Files & Artifacts",
    "Tool & Runtime Notes",
];

/// Why a reply is no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SummaryFault {
    /// It calls tools, and nothing else was asked for than words.
    #[error("it calls a tool")]
    ToolCall,
    /// The provider's filter withheld it.
    #[error("the provider's content filter withheld it")]
    Filtered,
    /// There are no words.
    #[error("it is empty")]
    Empty,
    /// None of the headings that were asked for: a refusal, an answer to the conversation, something else.
    #[error("it has fewer than two of the sections that were asked for")]
    NoSections,
}

impl SummaryFault {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::Filtered => "filtered",
            Self::Empty => "empty",
            Self::NoSections => "no_sections",
        }
    }
}

/// A summary that may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its sections in their order, as Markdown; within the limit.
    pub text: String,
    /// Whether something was cut to fit.
    pub cut: bool,
}

/// Fewest sections with words in them.
const LEAST: usize = 2;
/// Stands where a section ends early.
const CUT_MARK: &str = " […]";
/// Stands in a section without words.
const NOTHING: &str = "-";
/// What a section costs besides its words: the heading.
const PER_SECTION: u64 = 10;

impl Summary {
    /// Reads a reply: its sections by their headings, in the order they should have, and cut to `limit` estimated tokens.
    ///
    /// # Errors
    /// [`SummaryFault`]; then nothing may be written.
    pub fn read(reply: &Reply, limit: u64) -> Result<Self, SummaryFault> {
        if reply.tool_calls().next().is_some() {
            return Err(SummaryFault::ToolCall);
        }
        if reply.stop.kind == StopKind::ContentFilter {
            return Err(SummaryFault::Filtered);
        }
        let text = one_line_end(&reply.text());
        if text.trim().is_empty() {
            return Err(SummaryFault::Empty);
        }
        let sections = sections(&text);
        if sections.iter().filter(|body| body.lines().any(says_something)).count() < LEAST {
            return Err(SummaryFault::NoSections);
        }
        Ok(written(&sections, limit, reply.stop.kind == StopKind::MaxTokens))
    }
}

/// The words below each heading. What stands before the first one is a greeting at best.
fn sections(text: &str) -> [String; 8] {
    let mut found: [String; 8] = Default::default();
    let mut current = None;
    for line in text.lines() {
        match heading(line) {
            Some((at, rest)) => {
                current = Some(at);
                push_line(&mut found[at], rest);
            }
            None => {
                if let Some(at) = current {
                    // A heading that was not asked for must not pass for one of core's.
                    push_line(
                        &mut found[at],
                        if line.trim_start().starts_with('#') { without_marks(line) } else { line },
                    );
                }
            }
        }
    }
    found
}

/// A text in which only a line feed ends a line, and without other control characters: what looks like a line to a model is one
/// here, too.
pub(crate) fn one_line_end(text: &str) -> String {
    let ends = |c: char| matches!(c, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let text = text.replace("\r\n", "\n").replace(ends, "\n");
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

fn without_marks(line: &str) -> &str {
    line.trim_start_matches(['#', ' ', '\t'])
}

fn push_line(section: &mut String, line: &str) {
    // Fences around the whole summary are no part of it, nor are hints of the skeleton that were copied.
    // Nor what would pass for core's own section.
    let imitates = line.to_lowercase().contains("the user's own words");
    if imitates
        || line.trim_start().starts_with("```")
        || is_hint(line)
        || (section.is_empty() && line.trim().is_empty())
    {
        return;
    }
    if !section.is_empty() {
        section.push('\n');
    }
    section.push_str(line.trim_end());
}

/// Whether a line is a placeholder in brackets, such as "- Done: [what is finished]", that a small model has copied.
fn is_hint(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*']).trim_start();
    let words = line.split_once(": ").map_or(line, |(label, rest)| if label.contains(' ') { line } else { rest });
    // A ticked box is none.
    words.len() > 6 && words.starts_with('[') && words.find(']') == Some(words.len() - 1)
}

/// Whether a line of a section holds more than that there is nothing.
fn says_something(line: &str) -> bool {
    let words = line.trim().trim_start_matches(['-', '*']).trim().trim_end_matches('.');
    !words.is_empty() && !["none", "n/a", "nothing", "-"].iter().any(|nothing| words.eq_ignore_ascii_case(nothing))
}

/// Which section a line begins, and what stands behind the heading on the same line. Models write `## Goal`, `**Goal**:`,
/// `1. Goal` and `Goal:`; a bare word in the middle of a text is none.
fn heading(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim();
    let marks = |c: char| matches!(c, '#' | '*' | '_' | ' ' | '.' | ')') || c.is_ascii_digit();
    let name = trimmed.trim_start_matches(marks);
    let is_marked = name.len() < trimmed.len() && !trimmed.starts_with("* ");
    SECTIONS.iter().enumerate().find_map(|(at, section)| {
        let rest = strip_name(name, section)?;
        let rest = rest.trim_start_matches(['*', '_', '#']).trim_start();
        match rest.strip_prefix([':', '：']) {
            Some(rest) => Some((at, rest.trim_start_matches(['*', '_']).trim())),
            None => (is_marked && rest.is_empty()).then_some((at, "")),
        }
    })
}

/// What is left of `text` after a section's name; `&` may be written out.
fn strip_name<'t>(text: &'t str, section: &str) -> Option<&'t str> {
    let written = section.replace('&', "and");
    [section, written.as_str()].into_iter().find_map(|name| {
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(name).then(|| &text[name.len()..])
    })
}

/// All eight sections. Each may take its share of the limit; what short ones leave goes to the long ones.
fn written(sections: &[String; 8], limit: u64, was_cut: bool) -> Summary {
    let room = limit.saturating_sub(PER_SECTION * SECTIONS.len() as u64);
    let share = crate::shorten::fair_share(sections.iter().map(|body| TokenCounter.text(body)), room);
    let (mut text, mut cut) = (String::new(), was_cut);
    for (name, body) in SECTIONS.iter().zip(sections) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("## ");
        text.push_str(name);
        text.push('\n');
        let kept = head(body.trim_end(), share);
        if kept.len() < body.trim_end().len() {
            text.push_str(kept);
            text.push_str(CUT_MARK);
            cut = true;
        } else if kept.is_empty() {
            text.push_str(NOTHING);
        } else {
            text.push_str(kept);
        }
    }
    Summary { text, cut }
}

/// The beginning of a text, of at most so many estimated tokens with the mark.
fn head(text: &str, tokens: u64) -> &str {
    if TokenCounter.text(text) <= tokens {
        return text;
    }
    let room = tokens.saturating_sub(TokenCounter.text(CUT_MARK));
    let mut bytes = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX).min(text.len());
    loop {
        let head = &text[..text.floor_char_boundary(bytes)];
        if bytes == 0 || TokenCounter.text(head) <= room {
            return head;
        }
        bytes = bytes * 3 / 4;
    }
}

#[cfg(test)]
mod tests;
