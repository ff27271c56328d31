//! Words in scripts that are written from right to left.
//!
//! Many terminals draw such words as their readers expect, and move what stands between two of them along: `mv א ב` then
//! shows the second name first. No character of such a line is invisible or wrong, only their order is.

use super::class::is_mark;

/// Whether a display could show the parts of a line in another order than they have: after a word written from right to
/// left comes another one, or a number, before any letter written from left to right. The letters *within* such a word
/// are read by its readers in the right order, so one alone does not count.
///
/// Rather too often true than too seldom: what is not known to separate does not.
pub(super) fn reorders(line: &str) -> bool {
    let (mut rtl, mut gap) = (false, false);
    if line.is_ascii() {
        return false;
    }
    for c in line.chars() {
        if rtl && (c.is_numeric() || (gap && is_rtl(c))) {
            return true;
        }
        if is_rtl(c) {
            rtl = true;
        } else if is_ltr(c) {
            (rtl, gap) = (false, false);
        } else if rtl && !is_mark(c) {
            gap = true;
        }
    }
    false
}

/// The blocks of Hebrew, Arabic and the other scripts written from right to left, with their digits and marks.
pub(super) fn is_rtl(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}'
        | '\u{1e800}'..='\u{1efff}')
}

/// Letters that surely hold the order: of Latin, Greek, Cyrillic and the scripts of East Asia.
fn is_ltr(c: char) -> bool {
    let blocks =
        matches!(c, '\0'..='\u{24f}' | '\u{388}'..='\u{52f}' | '\u{3041}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
    blocks && c.is_alphabetic() && !is_mark(c)
}

#[cfg(test)]
mod tests;
