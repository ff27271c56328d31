//! The text around what was found.

use agent_protocol::ContentBlock;
use rusqlite::{Connection, params};

use super::text::{of_message, spaced, unspaced};
use super::words::Query;
use crate::sqlite::fault::Outcome;

/// Characters of an excerpt.
const LENGTH: usize = 200;
/// Characters of it before the word that was found.
const BEFORE: usize = 60;
/// Stands before a word that was found. The text of a message holds no control characters.
const MARK: char = '\u{1}';
/// Where text was left out.
const ELLIPSIS: char = '…';

/// Finds words in a text by the index's own rules: in a database of its own, in memory.
pub(super) struct Marker {
    conn: Connection,
}

impl Marker {
    pub(super) fn new() -> Outcome<Self> {
        let conn = Connection::open_in_memory()?;
        conn.execute_batch("CREATE VIRTUAL TABLE one USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')")?;
        Ok(Self { conn })
    }

    pub(super) fn excerpt(&self, content: &[ContentBlock], query: &Query) -> Outcome<String> {
        let text = of_message(content);
        let found = self.first_place(&text, query)?;
        Ok(around(&text, found))
    }

    /// Where the first of the words stands, in bytes; 0 if there is none.
    fn first_place(&self, text: &str, query: &Query) -> Outcome<usize> {
        self.conn.execute("INSERT OR REPLACE INTO one (rowid, text) VALUES (1, ?1)", [spaced(text)])?;
        let mut statement = self.conn.prepare_cached("SELECT highlight(one, 0, ?2, '') FROM one WHERE one MATCH ?1")?;
        let mut rows = statement.query(params![query.any(), MARK.to_string()])?;
        let Some(row) = rows.next()? else { return Ok(0) };
        let place = row.get_ref(0)?.as_str().ok().and_then(|marked| marked.find(MARK));
        Ok(place.map_or(0, |place| unspaced(text, place)))
    }
}

/// One line around a place: runs of blanks are one, words are whole where they are not very long.
fn around(text: &str, place: usize) -> String {
    let start = start(&text[..place]);
    let mut line = String::new();
    if start > 0 {
        line.push(ELLIPSIS);
    }
    let mut length = line.chars().count();
    let mut rest = text[start..].chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_whitespace() && (rest.peek().is_none_or(|next| next.is_whitespace()) || line.is_empty()) {
            continue;
        }
        if length == LENGTH {
            line.pop();
            line.push(ELLIPSIS);
            break;
        }
        line.push(if c.is_whitespace() { ' ' } else { c });
        length += 1;
    }
    line
}

/// Where an excerpt begins, some characters before the end of the text before the word: behind a blank if there is one.
fn start(before: &str) -> usize {
    let Some((earliest, _)) = before.char_indices().rev().nth(BEFORE - 1) else { return 0 };
    if earliest == 0 {
        return 0;
    }
    let blank = before[earliest..].char_indices().find(|(_, c)| c.is_whitespace());
    blank.map_or(earliest, |(at, blank)| earliest + at + blank.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, words: &str, expected: &str) {
        let query = Query::new(words).unwrap();
        assert_eq!(Marker::new().unwrap().excerpt(&[ContentBlock::text(text)], &query).unwrap(), expected);
    }

    /// DEC-77: one line around the first word that was found.
    #[test]
    fn an_excerpt_is_one_line_around_the_first_word() {
        check("a short text", "text", "a short text");
        check("two\nlines\tand  \r\n more \u{1b}[1m", "lines", "two lines and more [1m");
        check("Grüße aus Köln", "grusse koln", "Grüße aus Köln");
        check("Grüße aus Köln", "nothing", "Grüße aus Köln");
        let long = format!("{}needle {}", "word ".repeat(50), "tail ".repeat(50));
        let excerpt =
            Marker::new().unwrap().excerpt(&[ContentBlock::text(&long)], &Query::new("needl*").unwrap()).unwrap();
        assert!(
            excerpt.starts_with("…word ") && excerpt.contains(" needle tail") && excerpt.ends_with('…'),
            "{excerpt}"
        );
        assert_eq!(excerpt.chars().count(), LENGTH);
    }

    /// Blanks that were put between characters do not show.
    #[test]
    fn scripts_without_blanks_stay_as_they_are() {
        check("これは日本語です", "日本", "これは日本語です");
        let long = format!("{}日本語{}", "あ".repeat(300), "い".repeat(300));
        let excerpt =
            Marker::new().unwrap().excerpt(&[ContentBlock::text(&long)], &Query::new("日本").unwrap()).unwrap();
        assert!(excerpt.contains("あ日本語い") && !excerpt.contains(' '), "{excerpt}");
        assert_eq!(excerpt.chars().count(), LENGTH);
    }
}
