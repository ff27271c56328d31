//! Code fences of a Markdown text.

/// One fence.
pub(super) struct Fence<'t> {
    /// Where it begins in the text.
    pub(super) start: usize,
    /// What it says it holds.
    pub(super) language: &'t str,
    /// What it holds.
    pub(super) body: &'t str,
    /// Whether it ends.
    pub(super) closed: bool,
    /// The text behind it.
    pub(super) after: &'t str,
}

const MARK: &str = "```";

/// All fences of a text. One that has no end holds the rest.
pub(super) fn fences(text: &str) -> impl Iterator<Item = Fence<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + opening(&text[at..])?;
        let head = start + text[start..].find(MARK)? + MARK.len();
        let body = head + text[head..].find('\n').map_or(text.len() - head, |end| end + 1);
        let language = text[head..body].trim_matches(|c: char| c == '`' || c.is_whitespace());
        let (end, after) = match text[body..].find(MARK) {
            Some(length) => (body + length, body + length + MARK.len()),
            None => (text.len(), text.len()),
        };
        at = after;
        Some(Fence { start, language, body: &text[body..end], closed: end < text.len(), after: &text[after..] })
    })
}

/// Where a line begins with the mark, blanks aside.
fn opening(text: &str) -> Option<usize> {
    let mut line = 0;
    for part in text.split_inclusive('\n') {
        if part.trim_start().starts_with(MARK) {
            return Some(line);
        }
        line += part.len();
    }
    None
}
