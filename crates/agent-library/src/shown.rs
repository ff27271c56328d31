//! Words of files in a list the model reads: data, one line each (INS-6).

use std::path::Path;

use agent_protocol::shown_path_with;
use unicode_segmentation::UnicodeSegmentation;

/// A field of a catalog is at most this long. Characters.
pub const FIELD: usize = 160;

/// Text as one line of at most `max` characters.
///
/// Runs of blanks and line ends become one space. Control characters, bidi controls and whatever else is not seen are
/// gone, joiners and variation selectors with them. What is too long is cut between graphemes and ends with `…`. A
/// closing tag loses its slash's power, so that nothing gets out of a frame around the line.
#[must_use]
pub fn line(text: &str, max: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(4 * max));
    let mut count = 0;
    for c in text.chars() {
        // More than enough to know that it has to be cut.
        if count > 2 * max {
            break;
        }
        let c = if is_blank(c) { ' ' } else { c };
        let skipped = is_hidden(c) || (c == ' ' && (clean.is_empty() || clean.ends_with(' ')));
        if skipped {
            continue;
        }
        if is_slash(c) && clean.trim_end().ends_with(['<', '＜', '﹤', '‹', '〈']) {
            clean.push('\\');
            count += 1;
        }
        clean.push(c);
        count += 1;
    }
    cut(clean.trim_end(), max)
}

/// A slash, or what looks like one.
fn is_slash(c: char) -> bool {
    matches!(c, '/' | '／' | '∕' | '⁄' | '⧸')
}

/// At most `max` characters, with a `…` where there were more.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let (mut kept, mut end) = (0, 0);
    for grapheme in text.graphemes(true) {
        kept += grapheme.chars().count();
        if kept >= max {
            break;
        }
        end += grapheme.len();
    }
    if max == 0 { String::new() } else { format!("{}…", text[..end].trim_end()) }
}

/// A path for one line between backticks. What is not seen, would end the line, the backticks or a frame, or is no
/// UTF-8, is written byte by byte, as tools show and take it: `\x0A`.
#[must_use]
pub fn path(path: &Path) -> String {
    shown_path_with(path, |c| match c {
        '`' | '<' => false,
        c => !c.is_control() && !is_hidden(c) && (c == ' ' || !is_blank(c)),
    })
}

/// Whether a character would take part in a line without being seen as a character: controls that are no blanks, marks of
/// direction, and what Unicode calls default-ignorable.
fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        c if c.is_control() => true,
        // Zero-width spaces and joiners, marks, embeddings and isolates of direction, invisible operators.
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' => true,
        // Soft hyphen, joiner of graphemes, byte order mark, annotation anchors and what is no character beside them.
        '\u{ad}' | '\u{34f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        // Variation selectors, tags and the rest of their plane: text can be hidden in them.
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Fillers of Hangul and Khmer, marks of shorthand and of musical notation.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        _ => false,
    }
}

/// Whether a character is a space of some kind, or ends a line.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2800}')
}

#[cfg(test)]
mod tests;
