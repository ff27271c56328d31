//! What a character does to a display.

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
    /// It is not seen, breaks a line where none was written, or turns around what follows.
    Hidden,
}

/// The class of a character.
///
/// Hidden are the default-ignorable code points of Unicode (zero-width characters, fillers, variation selectors, tags, bidi
/// controls) with the line and paragraph separators and the interlinear annotation marks.
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
        _ => Class::Plain,
    }
}
