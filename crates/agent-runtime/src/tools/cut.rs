//! A text cut to the room there is for it.

use agent_engine::TokenCounter;

/// The beginning of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Beginning<'t> {
    /// It ends with a line, unless the first line alone is too long.
    pub(super) text: &'t str,
    /// So many lines of it are whole. The next one is where reading goes on.
    pub(super) lines: usize,
}

/// The longest beginning of whole lines that takes at most `room` estimated tokens.
pub(super) fn beginning(text: &str, room: u64) -> Beginning<'_> {
    let fits = |end: usize| TokenCounter.text(&text[..end]) <= room;
    let ends: Vec<_> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let lines = ends.partition_point(|end| fits(*end));
    if let Some(end) = lines.checked_sub(1).and_then(|last| ends.get(last)) {
        return Beginning { text: &text[..*end], lines };
    }
    let first = &text[..ends.first().copied().unwrap_or(text.len())];
    let borders: Vec<_> = first.char_indices().map(|(at, _)| at).collect();
    let kept = borders.partition_point(|end| fits(*end));
    let end = kept.checked_sub(1).and_then(|last| borders.get(last)).copied().unwrap_or(0);
    Beginning { text: &text[..end], lines: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, room: u64, expected: &str, lines: usize) {
        assert_eq!(beginning(text, room), Beginning { text: expected, lines });
    }

    #[test]
    fn whole_lines_are_kept() {
        check("one\ntwo\nthree", 0, "", 0);
        check("one\ntwo\nthree", 1, "one\n", 1);
        check("one\ntwo\nthree", 2, "one\ntwo\n", 2);
        check("\n\none\n", 1, "\n\n", 2);
        check("", 5, "", 0);
    }

    /// A line that is too long by itself is cut between characters.
    #[test]
    fn one_long_line_is_cut() {
        check("abcdefgh", 1, "abcd", 0);
        check("你好你好", 2, "你好", 0);
        check("abcdefgh\nx", 1, "abcd", 0);
    }
}
