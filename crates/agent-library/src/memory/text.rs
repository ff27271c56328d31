//! What can be seen of a text.

/// Without control characters other than line ends and tabs, and without what is not seen or turns text around. What a
/// shape or a secret is hidden behind is gone, too.
pub(super) fn seen(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(*c))).collect()
}

/// One line of at most `most` characters; what is cut ends with `…`.
pub(super) fn one_line(text: &str, most: usize) -> String {
    // Separators that other readers take for line ends are blanks here.
    let spaced: String = text.chars().map(|c| if is_line_end(c) || c == '\t' { ' ' } else { c }).collect();
    cut(&seen(&spaced).split_whitespace().collect::<Vec<_>>().join(" "), most)
}

/// The first `most` characters; what is cut ends with `…`.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// What somebody takes for the end of a line.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters that say something a person does not see: they turn text around, or spell out words that nobody reads.
pub(super) fn is_treacherous(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
}

/// The default-ignorable code points of Unicode, but for joiners and emoji forms, with the annotation marks.
fn is_hidden(c: char) -> bool {
    is_treacherous(c)
        || matches!(
            c,
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
                | '\u{2028}'
                | '\u{2029}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0d}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
        )
}
