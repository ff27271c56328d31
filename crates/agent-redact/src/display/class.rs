//! What a character does to a display.

use unicode_segmentation::UnicodeSegmentation;

/// What a character does to a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It is seen.
    Plain,
    /// It steers a terminal: C0, DEL, C1.
    Control,
    /// U+200C and U+200D: parts of emoji sequences and of the spelling of some languages, invisible elsewhere.
    Joiner,
    /// U+FE0E and U+FE0F: text or emoji form of the character before.
    Form,
    /// It looks like a space and is none, or like nothing at all, but belongs into some ordinary texts.
    Blank,
    /// It is not seen, breaks a line where none was written, or turns around what follows.
    Hidden,
}

/// The class of a character.
///
/// Hidden are the default-ignorable code points of Unicode (zero-width characters, fillers, variation selectors, tags, bidi
/// controls) with the line and paragraph separators and the interlinear annotation marks. Blank are the other spaces and
/// what fonts draw as nothing: the empty braille pattern, the null notehead, joiners and fillers of a few old scripts.
pub(super) fn class(c: char) -> Class {
    match c {
        ' '..='~' => Class::Plain,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Class::Control,
        '\u{200c}' | '\u{200d}' => Class::Joiner,
        '\u{fe0e}' | '\u{fe0f}' => Class::Form,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Class::Hidden,
        '\u{a0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200a}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{2800}'
        | '\u{2d7f}'
        | '\u{3000}'
        | '\u{1107f}'
        | '\u{13430}'..='\u{1345f}'
        | '\u{16fe4}'
        | '\u{1d159}' => Class::Blank,
        _ => Class::Plain,
    }
}

/// Whether a character is drawn onto the one before it: accents, vowel signs. Skin tones are too, but seen on their own.
pub(super) fn is_mark(c: char) -> bool {
    if c.is_ascii() || ('\u{1f3fb}'..='\u{1f3ff}').contains(&c) {
        return false;
    }
    // Unicode's own tables say it in one way that needs no list here: after a letter it begins no new grapheme.
    let pair = String::from_iter(['a', c]);
    pair.graphemes(true).nth(1).is_none()
}

/// Whether a character is seen as what it is after this one: a mark belongs to a letter, else it would be drawn onto a
/// quote, a label or a border of ours.
pub(super) fn is_seen_after(c: char, before: Option<char>) -> bool {
    !is_mark(c) || before.is_some_and(|before| before.is_alphanumeric() || is_mark(before))
}

#[cfg(test)]
mod tests;
