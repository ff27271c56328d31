//! What can be seen of a text.

use crate::shown;

/// The text without what is not seen: what a shape or a secret is hidden behind is gone. For looking at only.
pub(super) fn seen(text: &str) -> String {
    // Nothing is cut: escaping makes a line at most twice as long.
    text.lines().map(|line| shown::line(line, 2 * line.len() + 1)).collect::<Vec<_>>().join("\n")
}

/// What somebody takes for the end of a line.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters that say something a person does not see: they turn text around, or spell out words that nobody reads.
pub(super) fn is_treacherous(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
}
