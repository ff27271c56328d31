//! The answer on a terminal, piece by piece.

use agent_core::text::escape_for_terminal;
use unicode_width::UnicodeWidthChar;

use super::rows::Width;

/// A longer end of a piece is not held back: it is no word that somebody waits for the rest of.
const MOST_HELD: usize = 256;
/// Begins and ends lines that are to be copied as they are.
const FENCE: &str = "```";
/// Where a tab leads to, on a terminal.
const TAB: usize = 8;

/// Where the answer stands, and what was held back because the next piece may belong to it.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    held: String,
    /// Columns of the row that are used.
    used: usize,
    /// Of the line: whether it is, or may yet become, a fence.
    line: LineStart,
    /// The lines are code: where they end is for the terminal to say.
    in_code: bool,
}

/// The beginning of a line, as far as it matters.
#[derive(Debug, Default)]
struct LineStart {
    text: String,
    known: bool,
}

impl Streamed {
    /// What to print of a piece.
    pub(super) fn push(&mut self, text: &str, width: Width) -> String {
        let mut whole = std::mem::take(&mut self.held);
        whole.push_str(text);
        // A word is whole at the blank behind it, and a character that joins its neighbours is one together with them only.
        let last = whole.char_indices().next_back().map_or(0, |(at, c)| if is_blank(c) { whole.len() } else { at });
        let end =
            whole[..last].rfind(ends_word).map_or(0, |at| at + whole[at..].chars().next().map_or(1, char::len_utf8));
        if whole.len() - end <= MOST_HELD {
            self.held = whole.split_off(end);
        }
        self.laid_out(&whole, width)
    }

    /// The rest.
    pub(super) fn finish(&mut self, width: Width) -> String {
        let held = std::mem::take(&mut self.held);
        let shown = self.laid_out(&held, width);
        *self = Self::default();
        shown
    }

    fn laid_out(&mut self, text: &str, width: Width) -> String {
        let mut shown = String::with_capacity(text.len() + 8);
        for word in text.split_inclusive(ends_word) {
            self.word(&escape_for_terminal(word), width, &mut shown);
        }
        shown
    }

    /// A word with what parts it from the next one.
    fn word(&mut self, word: &str, width: Width, shown: &mut String) {
        let letters = word.trim_end_matches(is_blank);
        let columns = width.of_all(letters);
        let room = width.usable();
        if !self.in_code && self.used > 0 && !letters.is_empty() && self.used + columns > room && columns <= room {
            shown.push('\n');
            self.used = 0;
        }
        shown.push_str(letters);
        self.line.push(word);
        self.used += columns;
        if self.used > room {
            // The terminal wraps it.
            self.used %= room + 1;
        }
        for blank in word[letters.len()..].chars() {
            match blank {
                '\n' => {
                    self.in_code ^= self.line.is_fence();
                    self.line = LineStart::default();
                    self.used = 0;
                }
                '\t' => self.used += TAB - self.used % TAB,
                _ => self.used += 1,
            }
            // Of a blank at the end of a row nothing is seen but that it makes an empty row.
            if self.used <= room || self.in_code {
                shown.push(blank);
            }
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\t')
}

/// Chinese and others have no blanks between words; a row may end behind any of their letters.
fn ends_word(c: char) -> bool {
    is_blank(c) || (c.is_alphanumeric() && c.width() == Some(2))
}

impl LineStart {
    fn push(&mut self, word: &str) {
        if !self.known {
            self.text.push_str(word);
            self.known = self.text.trim_start().len() >= FENCE.len();
        }
    }

    fn is_fence(&self) -> bool {
        self.text.trim_start().starts_with(FENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&str], columns: usize) -> String {
        let (mut streamed, width) = (Streamed::default(), Width::new(columns, false));
        let mut shown: String = pieces.iter().map(|piece| streamed.push(piece, width)).collect();
        shown.push_str(&streamed.finish(width));
        shown
    }

    /// FND-73: a word that does not fit goes on the next row, however it comes in pieces; one that is longer than a row is left to the
    /// terminal.
    #[test]
    fn words_stay_whole() {
        let pieces = ["The quick bro", "wn fox jum", "ps over", " the lazy dog.\nAnd ", "again."];
        assert_eq!(shown(&pieces, 20), "The quick brown fox\njumps over the lazy\ndog.\nAnd again.");
        let long = "x".repeat(45);
        assert_eq!(shown(&["See ", &long, " there"], 20), format!("See {long} there"));
    }

    /// Code is copied from a terminal: no line of it is broken by us.
    #[test]
    fn code_stays_as_it_is() {
        let code = "Run this:\n```sh\nfind . -name a -or -name b\n```\nand then that one again\n";
        assert_eq!(shown(&[code], 20), code.replace("one again", "one \nagain"));
    }

    /// Letters that stand without blanks come as they are written, and go on below at the end of a row.
    #[test]
    fn letters_without_blanks() {
        let (mut streamed, width) = (Streamed::default(), Width::new(20, false));
        assert_eq!(streamed.push("中文中文", width), "中文中");
        assert_eq!(streamed.push("中文中文中文中文", width), "文中文中文中\n文中");
        assert_eq!(streamed.finish(width), "文");
    }

    /// What is written comes out whole, but for the ends of rows.
    #[test]
    fn emoji_survive_being_cut_between_pieces() {
        let text = "ok 👩‍👩‍👧 fine";
        let pieces: Vec<String> = text.chars().map(|c| c.to_string()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(shown(&pieces, 80), text);
    }
}
